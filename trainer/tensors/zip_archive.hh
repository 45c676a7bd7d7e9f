// SPDX-License-Identifier: Apache-2.0
// Zip archives, as NumPy's savez and savez_compressed write them: members stored or deflated, also beyond 4
// GiB (ZIP64). https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT Without LibTorch, so that it can
// be fuzzed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/base/input_file.hh"

namespace thinpipe::trainer {

struct ZipMember {
  std::string name;
  bool is_deflated = false;
  std::uint32_t crc = 0;
  std::uint64_t stored_bytes = 0;  // in the archive
  std::uint64_t bytes = 0;
  std::uint64_t header_begin = 0;
};

// Reads the central directory. Throws Error naming the file if it is damaged, has a name twice, or has
// members that are encrypted, compressed in another way, or claim more bytes than the archive can hold.
std::vector<ZipMember> read_zip_directory(const InputFile& file);

// Fills `out`, of member.bytes bytes, and verifies the checksum. Throws Error naming file and member.
void read_zip_member(const InputFile& file, const ZipMember& member, std::span<char> out);

}  // namespace thinpipe::trainer
