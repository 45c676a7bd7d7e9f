// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/safetensors.hh"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/support/atomic_file.hh"
#include "common/support/json_object.hh"
#include "trainer/base/input_file.hh"
#include "trainer/base/mapped_file.hh"
#include "trainer/tensors/mapped_elements.hh"
#include "trainer/tensors/safetensors_header.hh"

namespace thinpipe::trainer {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are read and written without conversion");

struct StoredType {
  std::string_view name;
  torch::ScalarType type;
};

constexpr std::array<StoredType, 10> element_types = {{{"F64", torch::kDouble},
                                                       {"F32", torch::kFloat},
                                                       {"F16", torch::kHalf},
                                                       {"BF16", torch::kBFloat16},
                                                       {"I64", torch::kLong},
                                                       {"I32", torch::kInt},
                                                       {"I16", torch::kShort},
                                                       {"I8", torch::kChar},
                                                       {"U8", torch::kByte},
                                                       {"BOOL", torch::kBool}}};

torch::ScalarType type_of(std::string_view dtype) {
  for (const auto& [name, type] : element_types) {
    if (name == dtype) return type;
  }
  throw Error(fmt::format("the dtype {} has no counterpart in LibTorch", dtype));
}

std::string_view type_name(const std::string& tensor, torch::ScalarType type) {
  for (const auto& [name, element_type] : element_types) {
    if (element_type == type) return name;
  }
  throw Error(fmt::format("tensor \"{}\" is of {}, which is not supported in safetensors files", tensor,
                          c10::toString(type)));
}

}  // namespace

TensorMap read_safetensors(const std::string& path) {
  const InputFile file(path);
  const SafetensorsHeader header = read_safetensors_header(file);
  TensorMap tensors;
  for (const SafetensorsEntry& entry : header.entries) {
    const torch::Tensor tensor = torch::empty(entry.shape, type_of(entry.dtype));
    file.read(header.elements_begin + entry.begin, {static_cast<char*>(tensor.data_ptr()), tensor.nbytes()});
    check_booleans(tensor, fmt::format("{}: tensor \"{}\"", path, entry.name));
    tensors[entry.name] = tensor;
  }
  return tensors;
}

TensorMap map_safetensors(const std::string& path) {
  const SafetensorsHeader header = read_safetensors_header(InputFile(path));
  const auto file = std::make_shared<MappedFile>(path);
  TensorMap tensors;
  for (const SafetensorsEntry& entry : header.entries) {
    const torch::Tensor tensor = elements_in(file, file->characters(), header.elements_begin + entry.begin,
                                             entry.shape, type_of(entry.dtype));
    check_booleans(tensor, fmt::format("{}: tensor \"{}\"", path, entry.name));
    tensors[entry.name] = tensor;
  }
  return tensors;
}

void write_safetensors(const TensorMap& tensors, const std::string& path) {
  std::vector<std::pair<std::string, torch::Tensor>> ordered;
  for (const auto& [name, tensor] : tensors) {
    if (name == safetensors_metadata_key)
      throw Error(fmt::format("no tensor can be named {} in {}", name, path));
    ordered.emplace_back(name, tensor.detach().cpu().contiguous());
  }
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
    return a.second.element_size() > b.second.element_size();
  });
  // Hugging Face's transformers requires this key.
  Json header = {{safetensors_metadata_key, {{"format", "pt"}}}};
  std::size_t end = 0;
  for (const auto& [name, tensor] : ordered) {
    header[name] = {{"dtype", type_name(name, tensor.scalar_type())},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {end, end + tensor.nbytes()}}};
    end += tensor.nbytes();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const auto length = std::bit_cast<std::array<char, safetensors_length_bytes>>(std::uint64_t{text.size()});
  AtomicFile file(path);
  file.write({length.data(), length.size()});
  file.write(text);
  for (const auto& [name, tensor] : ordered) {
    file.write({static_cast<const char*>(tensor.data_ptr()), tensor.nbytes()});
  }
  file.commit();
}

}  // namespace thinpipe::trainer
