// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/convert.hh"

#include <fmt/format.h>

#include "trainer/tensors/tensor_file.hh"

namespace thinpipe::trainer {

std::string convert(const std::string& input, const std::string& output) {
  const auto [tensors, under] = load_found_tensors(input);
  save_tensors(tensors, output);
  std::int64_t elements = 0;
  for (const auto& [name, tensor] : tensors) elements += tensor.numel();
  const std::string from = under.empty() ? "" : fmt::format(", of \"{}\" in {}", under, input);
  return fmt::format("{}: {} tensors, {} elements{}", output, tensors.size(), elements, from);
}

}  // namespace thinpipe::trainer
