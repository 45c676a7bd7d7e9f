#include "trainer/convert.hh"

#include <fmt/format.h>

#include "trainer/tensor_map.hh"

namespace thinpipe::trainer {

std::string convert(const std::string& input, const std::string& output) {
  const TensorMap tensors = load_tensors(input);
  save_tensors(tensors, output);
  std::int64_t elements = 0;
  for (const auto& [name, tensor] : tensors) elements += tensor.numel();
  return fmt::format("{}: {} tensors, {} elements", output, tensors.size(), elements);
}

}  // namespace thinpipe::trainer
