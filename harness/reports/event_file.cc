// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/event_file.hh"

#include <bit>

#include <boost/crc.hpp>

namespace thinpipe {
namespace {

// Protocol Buffers: a field is a key, which has the field's number and the kind of its value, and the value.
enum class Kind : std::uint64_t { varint = 0, eight_bytes = 1, length_and_bytes = 2, four_bytes = 5 };

// Numbers of the fields used.
namespace event_field {
constexpr std::uint64_t wall_time = 1, step = 2, file_version = 3, summary = 5;
}
namespace summary_field {
constexpr std::uint64_t value = 1;
}
namespace value_field {
constexpr std::uint64_t tag = 1, simple_value = 2;
}

template <class Unsigned>
std::string little_endian(Unsigned value) {
  std::string out;
  for (std::size_t i = 0; i < sizeof value; ++i) out += static_cast<char>((value >> (8 * i)) & 0xFFU);
  return out;
}

// Writes seven bits per byte, the lowest first; the eighth bit is set if more bytes follow.
std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80U; value >>= 7U) out += static_cast<char>((value & 0x7FU) | 0x80U);
  return out + static_cast<char>(value);
}

std::string key(std::uint64_t field, Kind kind) {
  return varint((field << 3U) | static_cast<std::uint64_t>(kind));
}

std::string double_field(std::uint64_t field, double value) {
  return key(field, Kind::eight_bytes) + little_endian(std::bit_cast<std::uint64_t>(value));
}

std::string float_field(std::uint64_t field, float value) {
  return key(field, Kind::four_bytes) + little_endian(std::bit_cast<std::uint32_t>(value));
}

std::string integer_field(std::uint64_t field, std::int64_t value) {
  return key(field, Kind::varint) + varint(static_cast<std::uint64_t>(value));
}

std::string bytes_field(std::uint64_t field, std::string_view bytes) {
  return key(field, Kind::length_and_bytes) + varint(bytes.size()).append(bytes);
}

}  // namespace

std::uint32_t masked_crc32c(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc32c;
  crc32c.process_bytes(bytes.data(), bytes.size());
  return std::rotr(static_cast<std::uint32_t>(crc32c.checksum()), 15) + 0xA282EAD8U;
}

EventFile::EventFile(double wall_time_s) {
  append(double_field(event_field::wall_time, wall_time_s) +
         bytes_field(event_field::file_version, "brain.Event:2"));
}

void EventFile::add(double wall_time_s, std::int64_t step, const std::vector<Scalar>& scalars) {
  std::string summary;
  for (const Scalar& scalar : scalars) {
    summary += bytes_field(summary_field::value,
                           bytes_field(value_field::tag, scalar.tag) +
                               float_field(value_field::simple_value, static_cast<float>(scalar.value)));
  }
  append(double_field(event_field::wall_time, wall_time_s) + integer_field(event_field::step, step) +
         bytes_field(event_field::summary, summary));
}

void EventFile::append(std::string_view event) {
  const std::string length = little_endian(static_cast<std::uint64_t>(event.size()));
  bytes_ += length + little_endian(masked_crc32c(length));
  bytes_.append(event) += little_endian(masked_crc32c(event));
}

}  // namespace thinpipe
