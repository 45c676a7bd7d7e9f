// SPDX-License-Identifier: Apache-2.0
#include "trainer/pruning/criterion.hh"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace thinpipe::trainer {
namespace {

// Above every real importance: an exempt weight is never chosen.
constexpr float exempt = std::numeric_limits<float>::infinity();

// The weights of some layers, one layer after another, with the ranking that decides which are pruned.
class Ranking {
 public:
  // pruned: bool, in the shape of the weights; undefined if nothing is pruned yet.
  void add_layer(const std::string& name, const torch::Tensor& importance, const torch::Tensor& pruned) {
    const torch::Tensor values = importance.detach().to(torch::kCPU, torch::kFloat32).flatten().contiguous();
    if (!values.isfinite().all().item<bool>()) {
      throw Error(fmt::format("prune: the importance of a weight of {} is NaN or infinite", name));
    }
    const std::size_t first = keys_.size();
    keys_.insert(keys_.end(), values.data_ptr<float>(), values.data_ptr<float>() + values.numel());
    if (pruned.defined()) {
      const torch::Tensor bits = pruned.flatten().contiguous();
      pruned_.insert(pruned_.end(), bits.data_ptr<bool>(), bits.data_ptr<bool>() + bits.numel());
    } else {
      pruned_.resize(keys_.size(), false);
    }
    exempt_most_important(first);
  }

  // Marks the floor(ratio * weights) lowest weights, or all that are not exempt if there are fewer.
  std::vector<bool> first_to_go(double ratio) const {
    const auto asked = static_cast<std::size_t>(std::floor(ratio * static_cast<double>(keys_.size())));
    const std::size_t count = std::min(asked, keys_.size() - exempted_);
    std::vector<bool> chosen(keys_.size(), false);
    if (count == 0) return chosen;
    std::vector<float> order = keys_;
    const auto nth = order.begin() + static_cast<std::ptrdiff_t>(count - 1);
    std::nth_element(order.begin(), nth, order.end());
    const float threshold = *nth;
    std::size_t left = count;
    const auto choose = [&](auto&& applies) {
      for (std::size_t i = 0; i < keys_.size() && left > 0; ++i) {
        if (!applies(i)) continue;
        chosen[i] = true;
        --left;
      }
    };
    choose([&](std::size_t i) { return keys_[i] < threshold; });
    choose([&](std::size_t i) { return keys_[i] == threshold && pruned_[i]; });
    choose([&](std::size_t i) { return keys_[i] == threshold && !pruned_[i]; });
    return chosen;
  }

 private:
  // Among equals, exempts the last one in the ranking.
  void exempt_most_important(std::size_t first) {
    if (first == keys_.size()) return;
    std::size_t top = first;
    for (std::size_t i = first + 1; i < keys_.size(); ++i) {
      if (keys_[i] > keys_[top] || (keys_[i] == keys_[top] && pruned_[top] >= pruned_[i])) top = i;
    }
    keys_[top] = exempt;
    ++exempted_;
  }

  std::vector<float> keys_;
  std::vector<bool> pruned_;
  std::size_t exempted_ = 0;
};

torch::Tensor pruned_of(const Mask* mask, std::size_t layer, const std::string& name) {
  if (mask == nullptr) return {};
  TORCH_CHECK(mask->layers().at(layer).name == name, "the mask in force does not cover ", name);
  return mask->layers()[layer].keep.logical_not();
}

void remove(const Mask::Layer& layer, std::vector<bool>::const_iterator removed) {
  auto* keep = layer.keep.data_ptr<bool>();
  for (std::int64_t i = 0; i < layer.weights(); ++i) keep[i] = !*removed++;
}

// Calls layer(l, name, importance, pruned) for every prunable layer.
void for_each_layer(const torch::nn::Module& model, const std::vector<torch::Tensor>& importance,
                    const Mask* in_force, const auto& layer) {
  const auto weights = prunable_weights(model);
  TORCH_CHECK(importance.size() == weights.size(), "one importance per prunable layer");
  for (std::size_t l = 0; l < weights.size(); ++l) {
    const auto& [name, weight] = weights[l];
    TORCH_CHECK(importance[l].sizes() == weight.sizes(), "importance of ", name, " has another shape");
    layer(l, name, importance[l], pruned_of(in_force, l, name));
  }
}

}  // namespace

Mask keep_most_important(const torch::nn::Module& model, const std::vector<torch::Tensor>& importance,
                         double ratio, const Mask* in_force) {
  Ranking ranking;
  for_each_layer(model, importance, in_force,
                 [&](std::size_t /*layer*/, const std::string& name, const torch::Tensor& values,
                     const torch::Tensor& pruned) { ranking.add_layer(name, values, pruned); });
  const std::vector<bool> removed = ranking.first_to_go(ratio);
  Mask mask = Mask::keep_all(model);
  auto next = removed.begin();
  for (const Mask::Layer& layer : mask.layers()) {
    remove(layer, next);
    next += layer.weights();
  }
  return mask;
}

Mask keep_most_important_of_each_layer(const torch::nn::Module& model,
                                       const std::vector<torch::Tensor>& importance, double ratio,
                                       const Mask* in_force) {
  Mask mask = Mask::keep_all(model);
  for_each_layer(
      model, importance, in_force,
      [&](std::size_t l, const std::string& name, const torch::Tensor& values, const torch::Tensor& pruned) {
        Ranking ranking;
        ranking.add_layer(name, values, pruned);
        remove(mask.layers()[l], ranking.first_to_go(ratio).begin());
      });
  return mask;
}

}  // namespace thinpipe::trainer
