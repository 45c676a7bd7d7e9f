#include "trainer/pruning/criterion.hh"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace thinpipe::trainer {
namespace {

// Above every real importance: what is exempt is never chosen.
constexpr float exempt = std::numeric_limits<float>::infinity();

// The importances of all layers one after the other, with each layer's most important weight exempt: of
// equals the one of highest index, for it would be the last to go.
std::vector<float> rank_keys(const std::vector<std::pair<std::string, torch::Tensor>>& weights,
                             const std::vector<torch::Tensor>& importance) {
  std::vector<float> keys;
  for (std::size_t l = 0; l < weights.size(); ++l) {
    const auto& [name, weight] = weights[l];
    TORCH_CHECK(importance[l].sizes() == weight.sizes(), "importance of ", name, " has another shape");
    const torch::Tensor values =
        importance[l].detach().to(torch::kCPU, torch::kFloat32).flatten().contiguous();
    if (!values.isfinite().all().item<bool>()) {
      throw Error(fmt::format("prune: the importance of a weight of {} is NaN or infinite", name));
    }
    const auto first =
        keys.insert(keys.end(), values.data_ptr<float>(), values.data_ptr<float>() + values.numel());
    if (first == keys.end()) continue;
    const auto top = std::max_element(keys.rbegin(), std::make_reverse_iterator(first));
    *top = exempt;
  }
  return keys;
}

// Marks the `count` smallest keys, of equals those of lowest index.
std::vector<bool> lowest(const std::vector<float>& keys, std::size_t count) {
  std::vector<bool> chosen(keys.size(), false);
  if (count == 0) return chosen;
  std::vector<float> order = keys;
  const auto nth = order.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::nth_element(order.begin(), nth, order.end());
  const float threshold = *nth;
  auto equals = count - static_cast<std::size_t>(std::count_if(
                            keys.begin(), keys.end(), [threshold](float key) { return key < threshold; }));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] < threshold) {
      chosen[i] = true;
    } else if (keys[i] == threshold && equals > 0) {
      chosen[i] = true;
      --equals;
    }
  }
  return chosen;
}

}  // namespace

Mask keep_most_important(const torch::nn::Module& model, const std::vector<torch::Tensor>& importance,
                         double ratio) {
  const auto weights = prunable_weights(model);
  TORCH_CHECK(importance.size() == weights.size(), "one importance per prunable layer");
  const std::vector<float> keys = rank_keys(weights, importance);
  const auto removable = keys.size() - static_cast<std::size_t>(std::count(keys.begin(), keys.end(), exempt));
  const auto asked = static_cast<std::size_t>(std::floor(ratio * static_cast<double>(keys.size())));
  const std::vector<bool> removed = lowest(keys, std::min(asked, removable));

  Mask mask = Mask::keep_all(model);
  auto next = removed.begin();
  for (const Mask::Layer& layer : mask.layers()) {
    auto* keep = layer.keep.data_ptr<bool>();
    for (std::int64_t i = 0; i < layer.weights(); ++i) keep[i] = !*next++;
  }
  return mask;
}

std::unique_ptr<PruningCriterion> make_criterion(const Json& value, const Place& place) {
  JsonObject object(value, place);
  std::string name = "magnitude";
  const PruningRegistry& registry = PruningRegistry::instance();
  object.read("criterion", name,
              {.effect = "how the weights to prune are chosen", .one_of = registry.names()});
  std::unique_ptr<PruningCriterion> made = registry.entries().at(name).make(object);
  object.finish();
  return made;
}

}  // namespace thinpipe::trainer
