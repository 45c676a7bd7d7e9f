// SPDX-License-Identifier: Apache-2.0
#include "common/support/fuzz/input.hh"
#include "trainer/datasets/idx_format.hh"

using namespace thinpipe;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::File file(data, size);
  for (const std::int64_t dimensions : {1, 2, 3}) {
    fuzz::expect_result_or_error([&] {
      std::vector<std::uint8_t> elements;
      trainer::read_idx_bytes(file.path(), dimensions, [&](const std::vector<std::int64_t>& shape) {
        fuzz::require(std::ssize(shape) == dimensions, "the file has the expected number of dimensions");
        std::size_t count = 1;
        for (const std::int64_t length : shape) count *= static_cast<std::size_t>(length);
        elements.resize(count);
        return std::span(elements);
      });
    });
  }
  return 0;
}
