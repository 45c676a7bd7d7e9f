#include "trainer/tensor_map.hh"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/support/exception.hh"
#include "trainer/input_file.hh"
#include "trainer/pytorch_file.hh"
#include "trainer/safetensors.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::string_view parallel_prefix = "module.";

TensorMap read_any(const std::string& path) {
  const std::string beginning = InputFile(path).beginning(9);
  if (is_pytorch_file(beginning)) return read_pytorch_file(path);
  // After the header's length comes the header, a JSON object.
  if (path.ends_with(".safetensors") || (beginning.size() == 9 && beginning[8] == '{')) {
    return read_safetensors(path);
  }
  throw Error(path +
              " is damaged or not a file of tensors: it is neither a safetensors file nor one that "
              "torch.save wrote");
}

TensorMap without_parallel_prefix(TensorMap tensors) {
  const bool all = std::all_of(tensors.begin(), tensors.end(),
                               [](const auto& item) { return item.first.starts_with(parallel_prefix); });
  if (!all) return tensors;
  TensorMap stripped;
  for (const auto& [name, tensor] : tensors) stripped[name.substr(parallel_prefix.size())] = tensor;
  return stripped;
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
  TensorMap tensors = read_any(path);
  if (tensors.empty()) throw Error(path + " holds no tensors");
  return without_parallel_prefix(std::move(tensors));
}

torch::Tensor expect_tensor(const TensorMap& tensors, const std::string& name, const torch::Tensor& like,
                            const std::string& what) {
  const auto entry = tensors.find(name);
  if (entry == tensors.end()) throw Error(fmt::format("{} has no tensor \"{}\"", what, name));
  const torch::Tensor& tensor = entry->second;
  if (tensor.sizes() != like.sizes() || tensor.scalar_type() != like.scalar_type()) {
    throw Error(fmt::format("tensor \"{}\" of {} is {}, but {} is needed", name, what,
                            describe_tensor(tensor), describe_tensor(like)));
  }
  return tensor;
}

std::string describe_tensor(const torch::Tensor& tensor) {
  return fmt::format("{} [{}]", c10::toString(tensor.scalar_type()), fmt::join(tensor.sizes(), ", "));
}

void check_booleans(const torch::Tensor& tensor, const std::string& what) {
  if (tensor.scalar_type() != torch::kBool) return;
  const std::span bytes(static_cast<const std::uint8_t*>(tensor.data_ptr()), tensor.nbytes());
  if (std::any_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte > 1; })) {
    throw Error(what + " has booleans that are neither 0 nor 1");
  }
}

}  // namespace thinpipe::trainer
