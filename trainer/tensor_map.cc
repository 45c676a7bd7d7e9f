#include "trainer/tensor_map.hh"

#include <cstdio>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <unistd.h>

#include "harness/support/exception.hh"
#include "harness/support/file_descriptor.hh"

namespace thinpipe::trainer {

void save_tensors(const TensorMap& tensors, const std::string& path) {
  c10::Dict<std::string, torch::Tensor> dict;
  for (const auto& [name, tensor] : tensors) dict.insert(name, tensor.detach().contiguous());
  const std::vector<char> bytes = torch::jit::pickle_save(torch::IValue(dict));
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  try {
    const FileDescriptor file = FileDescriptor::open(temporary, O_WRONLY | O_CREAT | O_TRUNC);
    write_all(file, {bytes.data(), bytes.size()}, "write " + temporary);
    system_call("flush " + temporary + " to disk", ::fsync(file.get()));
    system_call("rename " + temporary + " to " + path, ::rename(temporary.c_str(), path.c_str()));
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

TensorMap load_tensors(const std::string& path) {
  const std::string text = read_file(path);
  torch::IValue value;
  try {
    value = torch::jit::pickle_load({text.begin(), text.end()});
  } catch (const c10::Error& error) {
    throw Error(
        fmt::format("{} is damaged or not a file of tensors: {}", path, error.what_without_backtrace()));
  }
  if (!value.isGenericDict()) throw Error(path + " does not hold a dict of tensors");
  TensorMap tensors;
  for (const auto& entry : value.toGenericDict()) {
    if (!entry.key().isString() || !entry.value().isTensor()) {
      throw Error(path + " holds something other than named tensors");
    }
    tensors[entry.key().toStringRef()] = entry.value().toTensor();
  }
  return tensors;
}

torch::Tensor expect_tensor(const TensorMap& tensors, const std::string& name, const torch::Tensor& like,
                            const std::string& what) {
  const auto entry = tensors.find(name);
  if (entry == tensors.end()) throw Error(fmt::format("{} has no tensor \"{}\"", what, name));
  const torch::Tensor& tensor = entry->second;
  if (tensor.sizes() != like.sizes() || tensor.scalar_type() != like.scalar_type()) {
    throw Error(fmt::format("tensor \"{}\" of {} is {} [{}], but {} [{}] is needed", name, what,
                            c10::toString(tensor.scalar_type()), fmt::join(tensor.sizes(), ", "),
                            c10::toString(like.scalar_type()), fmt::join(like.sizes(), ", ")));
  }
  return tensor;
}

}  // namespace thinpipe::trainer
