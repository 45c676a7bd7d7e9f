// SPDX-License-Identifier: Apache-2.0
#include "common/support/fuzz/input.hh"
#include "trainer/tensors/safetensors_header.hh"

using namespace thinpipe;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::File file(data, size);
  return fuzz::expect_result_or_error([&] {
    const trainer::InputFile input(file.path());
    const trainer::SafetensorsHeader header = trainer::read_safetensors_header(input);
    std::uint64_t reached = 0;
    for (const trainer::SafetensorsEntry& entry : header.entries) {
      fuzz::require(entry.begin == reached && entry.end >= entry.begin, "tensors are contiguous");
      reached = entry.end;
    }
    fuzz::require(header.elements_begin + reached == size, "tensors fill the file");
  });
}
