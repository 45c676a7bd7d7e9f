#include "trainer/safetensors.hh"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/support/json_object.hh"
#include "trainer/atomic_file.hh"
#include "trainer/input_file.hh"

namespace thinpipe::trainer {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are read and written as they lie");

struct ElementType {
  std::string_view name;
  torch::ScalarType type;
};

constexpr std::array<ElementType, 10> element_types = {{{"F64", torch::kDouble},
                                                        {"F32", torch::kFloat},
                                                        {"F16", torch::kHalf},
                                                        {"BF16", torch::kBFloat16},
                                                        {"I64", torch::kLong},
                                                        {"I32", torch::kInt},
                                                        {"I16", torch::kShort},
                                                        {"I8", torch::kChar},
                                                        {"U8", torch::kByte},
                                                        {"BOOL", torch::kBool}}};

constexpr std::uint64_t length_bytes = 8;              // of the header's length
constexpr std::uint64_t header_at_most = 100'000'000;  // the format's own limit
constexpr std::string_view metadata_key = "__metadata__";

struct Entry {
  std::string name;
  torch::ScalarType type{};
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  // from the header's end
  std::uint64_t end = 0;
};

// What one member of the header says, checked for itself.
class EntryReader {
 public:
  EntryReader(const std::string& path, const std::string& name, const Json& value)
      : path_(path), name_(name), value_(value) {}

  Entry read() const {
    if (!value_.is_object()) fail("is not described by an object");
    for (const auto& [key, unused] : value_.items()) {
      if (key != "dtype" && key != "shape" && key != "data_offsets") fail("has an unknown member " + key);
    }
    const std::vector<std::uint64_t> offsets = whole_numbers("data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1]) fail("has data_offsets that are not [begin, end]");
    Entry entry{.name = name_, .type = type(), .shape = {}, .begin = offsets[0], .end = offsets[1]};
    for (const std::uint64_t size : whole_numbers("shape")) {
      if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) fail("is too large");
      entry.shape.push_back(static_cast<std::int64_t>(size));
    }
    std::uint64_t bytes = c10::elementSize(entry.type);
    for (const std::int64_t size : entry.shape) {
      if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) fail("is too large");
    }
    if (bytes != entry.end - entry.begin) {
      fail(fmt::format("takes {} bytes by its shape, but its data_offsets give it {}", bytes,
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

  torch::ScalarType type() const {
    const Json& dtype = member("dtype");
    for (const auto& [name, type] : element_types) {
      if (dtype == name) return type;
    }
    fail(fmt::format("is of dtype {}, which is not supported", dtype.dump()));
  }

  std::vector<std::uint64_t> whole_numbers(const char* key) const {
    const Json& list = member(key);
    const bool ok = list.is_array() && std::all_of(list.begin(), list.end(), [](const Json& number) {
                      return number.is_number_unsigned();
                    });
    if (!ok) fail(fmt::format("has a {} that is not a list of whole numbers from 0", key));
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

// In the order of their places, which must follow one another from 0 to `bytes` without gap or overlap.
void check_places(std::vector<Entry>& entries, std::uint64_t bytes, const std::string& path) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  std::uint64_t reached = 0;
  for (const Entry& entry : entries) {
    if (entry.end > bytes) {
      throw Error(
          fmt::format("{}: tensor \"{}\" ends at byte {}, but there are only {}: the file is cut short or "
                      "damaged",
                      path, entry.name, entry.end, bytes));
    }
    if (entry.begin < reached) {
      throw Error(
          fmt::format("{}: tensor \"{}\" begins at byte {}, inside the one before it, which ends at byte {}",
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
        fmt::format("{} is damaged or not a safetensors file: its header would take {} bytes of the {} "
                    "that follow, {} being the most",
                    file.path(), length, file.size() - length_bytes, header_at_most));
  }
  return length;
}

std::vector<Entry> read_header(const InputFile& file, std::uint64_t length) {
  std::string text(static_cast<std::size_t>(length), '\0');
  file.read(length_bytes, text);
  if (!text.starts_with('{'))
    throw Error(file.path() + " is damaged or not a safetensors file: no JSON header");
  Json header;
  try {
    header = parse_json(text, file.path());  // refuses a name given twice
  } catch (const InputError& error) {
    throw Error(fmt::format("{}: its header is damaged: {}", file.path(), error.message()));
  }
  std::vector<Entry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name == metadata_key) {
      check_metadata(value, file.path());
    } else {
      entries.push_back(EntryReader(file.path(), name, value).read());
    }
  }
  check_places(entries, file.size() - length_bytes - length, file.path());
  return entries;
}

std::string_view type_name(const std::string& tensor, torch::ScalarType type) {
  for (const auto& [name, element_type] : element_types) {
    if (element_type == type) return name;
  }
  throw Error(fmt::format("tensor \"{}\" is of {}, which safetensors files do not hold here", tensor,
                          c10::toString(type)));
}

}  // namespace

TensorMap read_safetensors(const std::string& path) {
  const InputFile file(path);
  const std::uint64_t length = header_length(file);
  TensorMap tensors;
  for (const Entry& entry : read_header(file, length)) {
    const torch::Tensor tensor = torch::empty(entry.shape, entry.type);
    file.read(length_bytes + length + entry.begin, {static_cast<char*>(tensor.data_ptr()), tensor.nbytes()});
    check_booleans(tensor, fmt::format("{}: tensor \"{}\"", path, entry.name));
    tensors[entry.name] = tensor;
  }
  return tensors;
}

void write_safetensors(const TensorMap& tensors, const std::string& path) {
  std::vector<std::pair<std::string, torch::Tensor>> ordered;
  for (const auto& [name, tensor] : tensors) {
    if (name == metadata_key) throw Error(fmt::format("no tensor can be named {} in {}", name, path));
    ordered.emplace_back(name, tensor.detach().cpu().contiguous());
  }
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
    return a.second.element_size() > b.second.element_size();
  });
  // Transformers wants to know where the names come from.
  Json header = {{metadata_key, {{"format", "pt"}}}};
  std::size_t end = 0;
  for (const auto& [name, tensor] : ordered) {
    header[name] = {{"dtype", type_name(name, tensor.scalar_type())},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {end, end + tensor.nbytes()}}};
    end += tensor.nbytes();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const auto length = std::bit_cast<std::array<char, length_bytes>>(std::uint64_t{text.size()});
  AtomicFile file(path);
  file.write({length.data(), length.size()});
  file.write(text);
  for (const auto& [name, tensor] : ordered) {
    file.write({static_cast<const char*>(tensor.data_ptr()), tensor.nbytes()});
  }
  file.commit();
}

}  // namespace thinpipe::trainer
