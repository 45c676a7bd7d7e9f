// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/safetensors_header.hh"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <tuple>

#include <fmt/format.h>

#include "common/support/json_object.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::uint64_t length_bytes = safetensors_length_bytes;
constexpr std::uint64_t header_at_most = 100'000'000;  // the format's limit
constexpr std::string_view metadata_key = safetensors_metadata_key;

struct ElementSize {
  std::string_view dtype;
  std::uint64_t bytes;
};

constexpr std::array<ElementSize, 10> element_sizes = {{{"F64", 8},
                                                        {"F32", 4},
                                                        {"F16", 2},
                                                        {"BF16", 2},
                                                        {"I64", 8},
                                                        {"I32", 4},
                                                        {"I16", 2},
                                                        {"I8", 1},
                                                        {"U8", 1},
                                                        {"BOOL", 1}}};

// One member of the header, checked by itself.
class EntryReader {
 public:
  EntryReader(const std::string& path, const std::string& name, const Json& value)
      : path_(path), name_(name), value_(value) {}

  SafetensorsEntry read() const {
    if (!value_.is_object()) fail("is not described by an object");
    for (const auto& [key, unused] : value_.items()) {
      if (key != "dtype" && key != "shape" && key != "data_offsets") fail("has an unknown member " + key);
    }
    const std::vector<std::uint64_t> offsets = whole_numbers("data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1]) fail("has data_offsets that are not [begin, end]");
    const ElementSize& element = element_size();
    SafetensorsEntry entry{
        .name = name_, .dtype = element.dtype, .shape = {}, .begin = offsets[0], .end = offsets[1]};
    for (const std::uint64_t size : whole_numbers("shape")) {
      if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) fail("is too large");
      entry.shape.push_back(static_cast<std::int64_t>(size));
    }
    std::uint64_t bytes = element.bytes;
    std::int64_t stride = 1;  // LibTorch multiplies the sizes even if one of them is 0
    for (const std::int64_t size : entry.shape) {
      const bool overflows = __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes) ||
                             __builtin_mul_overflow(stride, std::max<std::int64_t>(size, 1), &stride);
      if (overflows) fail("is too large");
    }
    if (bytes != entry.end - entry.begin) {
      fail(fmt::format("takes {} bytes by its shape, but {} by its data_offsets", bytes,
                       entry.end - entry.begin));
    }
    return entry;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("{}: tensor \"{}\" {}", path_, name_, what));
  }

  const Json& member(const char* key) const {
    const auto found = value_.find(key);
    if (found == value_.end()) fail(fmt::format("has no {}", key));
    return *found;
  }

  const ElementSize& element_size() const {
    const Json& dtype = member("dtype");
    for (const ElementSize& known : element_sizes) {
      if (dtype == known.dtype) return known;
    }
    fail(fmt::format("has dtype {}, which is not supported", dtype.dump()));
  }

  std::vector<std::uint64_t> whole_numbers(const char* key) const {
    const Json& list = member(key);
    const bool ok = list.is_array() && std::all_of(list.begin(), list.end(), [](const Json& number) {
                      return number.is_number_unsigned();
                    });
    if (!ok) fail(fmt::format("has a {} that is not a list of nonnegative integers", key));
    return list.get<std::vector<std::uint64_t>>();
  }

  const std::string& path_;
  const std::string& name_;
  const Json& value_;
};

void check_metadata(const Json& metadata, const std::string& path) {
  const bool ok = metadata.is_object() && std::all_of(metadata.begin(), metadata.end(),
                                                      [](const Json& value) { return value.is_string(); });
  if (!ok) throw Error(fmt::format("{}: its {} is not an object of strings", path, metadata_key));
}

// Sorts entries by position, and checks that they cover 0 to `bytes` without gap or overlap.
void check_places(std::vector<SafetensorsEntry>& entries, std::uint64_t bytes, const std::string& path) {
  std::sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  std::uint64_t reached = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.end > bytes) {
      throw Error(
          fmt::format("{}: tensor \"{}\" ends at byte {}, but there are only {}: the file is truncated or "
                      "damaged",
                      path, entry.name, entry.end, bytes));
    }
    if (entry.begin < reached) {
      throw Error(
          fmt::format("{}: tensor \"{}\" begins at byte {}, inside the previous one, which ends at byte {}",
                      path, entry.name, entry.begin, reached));
    }
    if (entry.begin > reached) {
      throw Error(fmt::format("{}: the bytes from {} to {}, before tensor \"{}\", belong to no tensor", path,
                              reached, entry.begin, entry.name));
    }
    reached = entry.end;
  }
  if (reached != bytes) {
    throw Error(fmt::format("{}: {} bytes follow the last tensor", path, bytes - reached));
  }
}

std::uint64_t header_length(const InputFile& file) {
  std::array<unsigned char, length_bytes> bytes{};
  if (file.size() < length_bytes) throw Error(file.path() + " is too short for a safetensors file");
  file.read(0, {reinterpret_cast<char*>(bytes.data()), bytes.size()});
  const auto length = std::bit_cast<std::uint64_t>(bytes);
  if (length > header_at_most || length > file.size() - length_bytes) {
    throw Error(
        fmt::format("{} is damaged or not a safetensors file: its header would take {} bytes, but only {} "
                    "follow, and {} is the maximum",
                    file.path(), length, file.size() - length_bytes, header_at_most));
  }
  return length;
}

}  // namespace

SafetensorsHeader read_safetensors_header(const InputFile& file) {
  const std::uint64_t length = header_length(file);
  std::string text(static_cast<std::size_t>(length), '\0');
  file.read(length_bytes, text);
  if (!text.starts_with('{'))
    throw Error(file.path() + " is damaged or not a safetensors file: no JSON header");
  Json header;
  try {
    header = parse_json(text, file.path());  // rejects duplicate names
  } catch (const InputError& error) {
    throw Error(fmt::format("{}: its header is damaged: {}", file.path(), error.message()));
  }
  std::vector<SafetensorsEntry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name == metadata_key) {
      check_metadata(value, file.path());
    } else {
      entries.push_back(EntryReader(file.path(), name, value).read());
    }
  }
  check_places(entries, file.size() - length_bytes - length, file.path());
  return {.elements_begin = length_bytes + length, .entries = std::move(entries)};
}

}  // namespace thinpipe::trainer
