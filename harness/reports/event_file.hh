// The bytes of a TensorBoard event file. Pure.
//
// The format is defined by TensorFlow's sources: records and their checksums in tensorflow/core/lib/io/
// record_writer.h and tensorflow/core/lib/hash/crc32c.h, what a record holds in tensorflow/core/util/
// event.proto and tensorflow/core/framework/summary.proto, its encoding by Protocol Buffers' wire format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thinpipe {

// The CRC-32C of the bytes, rotated and moved by a constant, as it stands in a record.
std::uint32_t masked_crc32c(std::string_view bytes);

struct Scalar {
  std::string_view tag;
  double value = 0;  // kept as float32
};

class EventFile {
 public:
  // Begins with the event that names the format's version.
  explicit EventFile(double wall_time_s);

  // One event with all the scalars of a step. Times are seconds since 1970, UTC.
  void add(double wall_time_s, std::int64_t step, const std::vector<Scalar>& scalars);

  const std::string& bytes() const { return bytes_; }

 private:
  // Appends a record: length and event, each followed by its checksum.
  void append(std::string_view event);

  std::string bytes_;
};

}  // namespace thinpipe
