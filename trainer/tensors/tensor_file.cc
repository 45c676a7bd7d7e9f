// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/tensor_file.hh"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/support/exception.hh"
#include "trainer/base/input_file.hh"
#include "trainer/tensors/pytorch_file.hh"
#include "trainer/tensors/safetensors.hh"
#include "trainer/tensors/weight_names.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::string_view parallel_prefix = "module.";

// Shows a file's first bytes, such as "7b 22 61", as a hint to its format.
std::string show(std::string_view beginning) {
  std::vector<std::string> bytes;
  for (const char byte : beginning.substr(0, 8))
    bytes.push_back(fmt::format("{:02x}", static_cast<std::uint8_t>(byte)));
  return bytes.empty() ? "it is empty" : fmt::format("it begins with the bytes {}", fmt::join(bytes, " "));
}

FoundTensors read_any(const std::string& path) {
  const std::string beginning = InputFile(path).beginning(beginning_bytes);
  if (is_pytorch_file(beginning)) return read_pytorch_file(path);
  // The header's length precedes the header, a JSON object.
  if (path.ends_with(".safetensors") || (beginning.size() > 8 && beginning[8] == '{')) {
    return {read_safetensors(path), ""};
  }
  throw Error(fmt::format(
      "{} is damaged or not a file of tensors: it begins neither like a safetensors file nor like a file of "
      "torch.save (a zip archive, or a pickle of a magic number); {}",
      path, show(beginning)));
}

TensorMap without_prefixes(TensorMap tensors, const std::string& path) {
  TensorMap stripped;
  for (const auto& [name, tensor] : tensors) {
    const std::string own_name = without_wrappers(name);
    if (!stripped.emplace(own_name, tensor).second) {
      throw Error(fmt::format(
          "{} contains the tensor \"{}\" twice, with and without a wrapper of torch.compile: save only the "
          "one that you need",
          path, own_name));
    }
  }
  const bool all = std::all_of(stripped.begin(), stripped.end(),
                               [](const auto& item) { return item.first.starts_with(parallel_prefix); });
  if (!all) return stripped;
  TensorMap bare;
  for (const auto& [name, tensor] : stripped) bare[name.substr(parallel_prefix.size())] = tensor;
  return bare;
}

}  // namespace

void save_tensors(const TensorMap& tensors, const std::string& path) {
  const auto ends_with = [&path](std::string_view ending) { return path.ends_with(ending); };
  if (ends_with(".safetensors")) {
    write_safetensors(tensors, path);
  } else if (ends_with(".pt") || ends_with(".pth") || ends_with(".bin")) {
    write_pytorch_file(tensors, path);
  } else {
    throw InputError({path, ""},
                     "the name must end in .safetensors, or in .pt, .pth or .bin for PyTorch's format");
  }
}

TensorMap load_tensors(const std::string& path) {
  return load_found_tensors(path).tensors;
}

FoundTensors load_found_tensors(const std::string& path) {
  FoundTensors found = read_any(path);
  if (found.tensors.empty()) throw Error(path + " contains no tensors");
  found.tensors = without_prefixes(std::move(found.tensors), path);
  return found;
}

}  // namespace thinpipe::trainer
