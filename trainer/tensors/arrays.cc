// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/arrays.hh"

#include <filesystem>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/support/exception.hh"
#include "trainer/base/input_file.hh"
#include "trainer/base/mapped_file.hh"
#include "trainer/tensors/mapped_elements.hh"
#include "trainer/tensors/npy_header.hh"
#include "trainer/tensors/safetensors.hh"
#include "trainer/tensors/safetensors_header.hh"
#include "trainer/tensors/zip_archive.hh"

namespace thinpipe::trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view npy_ending = ".npy";
constexpr std::string_view npz_ending = ".npz";
constexpr std::string_view safetensors_ending = ".safetensors";

bool is_array_file(const fs::path& path) {
  const std::string ending = path.extension();
  return ending == npy_ending || ending == npz_ending || ending == safetensors_ending;
}

torch::ScalarType scalar_type_of(std::string_view npy_type) {
  static const std::map<std::string_view, torch::ScalarType> types = {
      {"u1", torch::kUInt8}, {"i1", torch::kInt8}, {"i2", torch::kInt16},   {"i4", torch::kInt32},
      {"i8", torch::kInt64}, {"f2", torch::kHalf}, {"f4", torch::kFloat32}, {"f8", torch::kFloat64}};
  return types.at(npy_type);
}

torch::Tensor load_npy(const std::string& path) {
  const auto file = std::make_shared<MappedFile>(path);
  const std::span<const char> bytes = file->characters();
  const std::string_view beginning(bytes.data(), std::min<std::size_t>(bytes.size(), npy_beginning_bytes));
  const NpyHeader header = read_npy_header(beginning, bytes.size(), path);
  return elements_in(file, bytes, header.elements_begin, header.shape, scalar_type_of(header.type));
}

torch::Tensor load_npz_member(const std::string& path, const ZipMember& member) {
  const auto bytes =
      std::make_shared<torch::Tensor>(torch::empty({static_cast<std::int64_t>(member.bytes)}, torch::kUInt8));
  const std::span<char> memory(static_cast<char*>(bytes->data_ptr()), bytes->nbytes());
  read_zip_member(InputFile(path), member, memory);
  const std::string_view beginning(memory.data(), std::min<std::size_t>(memory.size(), npy_beginning_bytes));
  const NpyHeader header =
      read_npy_header(beginning, memory.size(), fmt::format("{}: member {}", path, member.name));
  return elements_in(bytes, memory, header.elements_begin, header.shape, scalar_type_of(header.type));
}

std::string without_ending(const std::string& name, std::string_view ending) {
  return name.substr(0, name.size() - ending.size());
}

}  // namespace

Arrays::Arrays(const std::string& path) : path_(path) {
  if (!fs::is_directory(path)) {
    if (!is_array_file(path)) {
      throw Error(path + ": must end in .safetensors, .npz or .npy, which names the format");
    }
    add_file(path);
    return;
  }
  std::set<fs::path> files;  // sorted, so that errors do not depend on the file system
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    if (entry.is_regular_file() && is_array_file(entry.path())) files.insert(entry.path());
  }
  if (files.empty()) throw Error(path + " contains no .safetensors, .npz or .npy files");
  for (const fs::path& file : files) add_file(file);
}

std::vector<std::string> Arrays::names() const {
  std::vector<std::string> names;
  for (const auto& [name, unused] : loaders_) names.push_back(name);
  return names;
}

torch::Tensor Arrays::load(const std::string& name) const {
  const auto loader = loaders_.find(name);
  if (loader == loaders_.end()) {
    throw Error(fmt::format("{} has no array \"{}\", only {}", path_, name, fmt::join(names(), ", ")));
  }
  return loader->second.load();
}

void Arrays::add_file(const std::string& path) {
  const std::string ending = fs::path(path).extension();
  if (ending == npy_ending) {
    add(fs::path(path).stem(), {path, [path] { return load_npy(path); }});
  } else if (ending == npz_ending) {
    for (const ZipMember& member : read_zip_directory(InputFile(path))) {
      if (!member.name.ends_with(npy_ending)) {
        throw Error(fmt::format("{}: member {} is not a .npy file", path, member.name));
      }
      add(without_ending(member.name, npy_ending),
          {path, [path, member] { return load_npz_member(path, member); }});
    }
  } else {
    for (const SafetensorsEntry& entry : read_safetensors_header(InputFile(path)).entries) {
      add(entry.name, {path, [path, name = entry.name] { return map_safetensors(path).at(name); }});
    }
  }
}

void Arrays::add(const std::string& name, Loader loader) {
  const std::string file = loader.file;
  const auto [entry, is_new] = loaders_.emplace(name, std::move(loader));
  if (!is_new) {
    throw Error(fmt::format("{} and {} both have an array \"{}\"", entry->second.file, file, name));
  }
}

}  // namespace thinpipe::trainer
