// SPDX-License-Identifier: Apache-2.0
#include "common/support/fuzz/input.hh"
#include "trainer/tensors/zip_archive.hh"

using namespace thinpipe;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::File file(data, size);
  return fuzz::expect_result_or_error([&] {
    const trainer::InputFile input(file.path());
    for (const trainer::ZipMember& member : trainer::read_zip_directory(input)) {
      fuzz::require(member.bytes / 1033 <= size, "a member is not larger than its archive can hold");
      std::string content(member.bytes, '\0');
      trainer::read_zip_member(input, member, content);
    }
  });
}
