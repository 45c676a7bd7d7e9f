// SPDX-License-Identifier: Apache-2.0
// Zip archives, for tests.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

namespace thinpipe::trainer::testing {

struct ZipContent {
  std::string name;
  std::string bytes;
  bool deflate = false;
};

inline std::string little_endian(std::uint64_t value, std::size_t bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes; ++i, value /= 256) out += static_cast<char>(value % 256);
  return out;
}

inline std::string deflated(const std::string& bytes) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  std::string in = bytes;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string zip(const std::vector<ZipContent>& contents) {
  std::string archive;
  std::string directory;
  for (const ZipContent& content : contents) {
    const std::string stored = content.deflate ? deflated(content.bytes) : content.bytes;
    const auto crc = crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(content.bytes.data()),
                             content.bytes.size());
    // Version, flags, method, time and date, checksum, sizes, length of the name; no extra field.
    const std::string common =
        little_endian(20, 2) + little_endian(0, 2) + little_endian(content.deflate ? 8 : 0, 2) +
        little_endian(0, 4) + little_endian(crc, 4) + little_endian(stored.size(), 4) +
        little_endian(content.bytes.size(), 4) + little_endian(content.name.size(), 2) + little_endian(0, 2);
    // Version, the same, no comment, disk 0, attributes, position.
    directory += "PK\x01\x02" + little_endian(20, 2) + common + little_endian(0, 2 + 2 + 2 + 4) +
                 little_endian(archive.size(), 4) + content.name;
    archive += "PK\x03\x04" + common + content.name + stored;
  }
  const std::string count = little_endian(contents.size(), 2);
  return archive + directory + "PK\x05\x06" + little_endian(0, 4) + count + count +
         little_endian(directory.size(), 4) + little_endian(archive.size(), 4) + little_endian(0, 2);
}

}  // namespace thinpipe::trainer::testing
