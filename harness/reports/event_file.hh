// SPDX-License-Identifier: Apache-2.0
// The bytes of a TensorBoard event file. Pure.
//
// TensorFlow's sources define the format:
//   records and checksums  tensorflow/core/lib/io/record_writer.h, tensorflow/core/lib/hash/crc32c.h
//   contents of a record   tensorflow/core/util/event.proto, tensorflow/core/framework/summary.proto
//   encoding               Protocol Buffers' wire format
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thinpipe {

// Returns the checksum of a record: the CRC-32C of the bytes, rotated, plus a constant.
std::uint32_t masked_crc32c(std::string_view bytes);

struct Scalar {
  std::string_view tag;
  double value = 0;  // stored as float32
};

class EventFile {
 public:
  // Adds the first event, which names the format's version.
  explicit EventFile(double wall_time_s);

  // Adds one event with all scalars of a step. Times are in seconds since 1970, UTC.
  void add(double wall_time_s, std::int64_t step, const std::vector<Scalar>& scalars);

  const std::string& bytes() const { return bytes_; }

  // Returns the bytes since the last call, for a file that grows.
  std::string take_bytes() { return std::exchange(bytes_, {}); }

 private:
  // Appends a record: length and event, each followed by its checksum.
  void append(std::string_view event);

  std::string bytes_;
};

}  // namespace thinpipe
