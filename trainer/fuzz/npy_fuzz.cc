// SPDX-License-Identifier: Apache-2.0
#include "common/support/fuzz/input.hh"
#include "trainer/tensors/npy_header.hh"

using namespace thinpipe;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::expect_result_or_error([&] {
    const std::string_view file = fuzz::text(data, size);
    const trainer::NpyHeader header =
        trainer::read_npy_header(file.substr(0, trainer::npy_beginning_bytes), size, "input");
    fuzz::require(header.elements_begin + header.elements_bytes == size, "elements fill the file");
    std::uint64_t bytes = static_cast<std::uint64_t>(header.type.back() - '0');
    for (const std::int64_t length : header.shape) bytes *= static_cast<std::uint64_t>(length);
    fuzz::require(bytes == header.elements_bytes, "the shape has as many bytes as there are");
  });
}
