// SPDX-License-Identifier: Apache-2.0
#include "trainer/pruning/balanced_batches.hh"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {

std::vector<torch::Tensor> class_balanced_batches(const torch::Tensor& labels,
                                                  const std::vector<std::int64_t>& order,
                                                  std::int64_t batches, std::int64_t examples_per_class) {
  const torch::Tensor classes = labels.to(torch::kInt64).contiguous();
  std::map<std::int64_t, std::vector<std::int64_t>> examples;  // indices by class, in order
  for (const std::int64_t example : order) {
    examples[classes.data_ptr<std::int64_t>()[example]].push_back(example);
  }
  std::vector<std::vector<std::int64_t>> chosen(static_cast<std::size_t>(batches));
  for (const auto& [label, members] : examples) {
    const std::int64_t needed = batches * examples_per_class;
    if (std::ssize(members) < needed) {
      throw Error(fmt::format("class {} has {} training examples, but {} batches of {} need {}; use fewer",
                              label, members.size(), batches, examples_per_class, needed));
    }
    auto next = members.begin();
    for (auto& batch : chosen) {
      batch.insert(batch.end(), next, next + examples_per_class);
      next += examples_per_class;
    }
  }
  std::vector<torch::Tensor> out;
  for (auto& batch : chosen) {
    std::ranges::sort(batch);
    out.push_back(torch::tensor(batch, torch::kInt64));
  }
  return out;
}

}  // namespace thinpipe::trainer
