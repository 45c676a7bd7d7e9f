// SPDX-License-Identifier: Apache-2.0
// Structured pruning: removes whole filters, the rows of a weight, so that layers need not compute them and the kept
// weights lie in contiguous ranges. Ranks filters by norm, as Li, Kadav, Durdanovic, Samet, Graf: Pruning Filters for
// Efficient ConvNets (2017) do, but over all layers together.
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "trainer/models/foreign_module.hh"
#include "trainer/models/layers/filtered_layers.hh"
#include "trainer/pruning/criterion.hh"

namespace thinpipe::trainer {
namespace {

struct FiltersOptions {
  void visit(auto& /*field*/) {}
};

// If every layer lost the same share of its filters, one would keep 1 - ratio of them. A layer keeps at least this
// share of that number: a ranking over all layers together might close it almost completely.
constexpr double kMinShareOfKept = 0.25;

// Returns the parameters whose rows may be removed: those of FilteredLayers, and of a Python model's linear layers and
// convolutions, which are computed in full. The head has a row per class, and recurrent and attention projections
// several groups of rows that belong together: these stay whole.
std::set<std::string> weights_with_filters(const Model& model) {
  std::set<std::string> names;
  std::vector<std::string> attentions;
  model.apply([&](const std::string& name, const torch::nn::Module& module) {
    const auto* const foreign = module.as<ForeignModule>();
    if (foreign != nullptr && foreign->kind() == ForeignModule::Kind::attention)
      attentions.push_back(name + ".");
    const bool is_foreign =
        foreign != nullptr && foreign->kind() == ForeignModule::Kind::linear_or_convolution;
    if (is_foreign || dynamic_cast<const FilteredLayer*>(&module) != nullptr) names.insert(name + ".weight");
  });
  names.erase(model.head() + ".weight");
  std::erase_if(names, [&](const std::string& name) {
    return std::ranges::any_of(attentions,
                               [&](const std::string& prefix) { return name.starts_with(prefix); });
  });
  return names;
}

struct Filter {
  std::size_t layer = 0;
  std::int64_t row = 0;
  std::int64_t weights = 0;
  double importance = 0;  // the square of its norm, relative to the layer's mean
  bool pruned = false;
};

// Returns the filters of a layer, with sums in the order of the weights: the same bits with any number of threads.
std::vector<Filter> filters_of(std::size_t layer, const std::string& name, const torch::Tensor& weight,
                               const Mask* in_force) {
  const torch::Tensor values =
      weight.detach().to(torch::kCPU, torch::kFloat32).reshape({weight.size(0), -1}).contiguous();
  const torch::Tensor kept =
      in_force == nullptr ? torch::Tensor() : in_force->layers().at(layer).keep.flatten(1).any(1);
  const std::int64_t size = values.size(1);
  std::vector<Filter> filters;
  double sum = 0;
  for (std::int64_t row = 0; row < values.size(0); ++row) {
    const float* const first = values.data_ptr<float>() + row * size;
    double squares = 0;
    for (std::int64_t i = 0; i < size; ++i) squares += static_cast<double>(first[i]) * first[i];
    if (!std::isfinite(squares)) {
      throw Error(fmt::format("prune: the importance of a filter of {} is NaN or infinite", name));
    }
    filters.push_back({.layer = layer,
                       .row = row,
                       .weights = size,
                       .importance = squares,
                       .pruned = kept.defined() && !kept.data_ptr<bool>()[row]});
    sum += squares;
  }
  const double mean = sum / static_cast<double>(filters.size());
  for (Filter& filter : filters) filter.importance = mean == 0 ? 0 : filter.importance / mean;
  return filters;
}

// Removes filters in the order of ‖filter‖ / rms of the layer's filters, over all layers together, until the next
// would exceed ratio * weights, where weights are all prunable ones of the model. So it removes at most as many
// weights as other criteria, and by less than one filter fewer, unless the layers that stay whole and the share that
// each layer keeps leave too little. Already pruned weights count as zeros: what is left of a layer is ranked higher
// the more of it is gone. Among equals, already pruned filters go first, then those of lowest index.
class Filters : public PruningCriterion {
 public:
  Mask choose(Model& model, const PruningContext& context, double ratio) const override {
    const std::set<std::string> names = weights_with_filters(model);
    if (names.empty()) {
      throw Error(
          "prune: the criterion filters finds no layer in this model, whose head, attention and recurrent "
          "layers stay whole; use magnitude");
    }
    Mask mask = Mask::keep_all(model);
    const auto weights = prunable_weights(model);
    std::vector<Filter> ranking;
    std::vector<std::int64_t> removable(weights.size());
    for (std::size_t l = 0; l < weights.size(); ++l) {
      const auto& [name, weight] = weights[l];
      if (!names.contains(name)) continue;
      const auto filters = static_cast<double>(weight.size(0));
      const auto least = static_cast<std::int64_t>(std::ceil(kMinShareOfKept * (1 - ratio) * filters));
      removable[l] = weight.size(0) - std::max<std::int64_t>(least, 1);
      std::ranges::copy(filters_of(l, name, weight, context.in_force), std::back_inserter(ranking));
    }
    std::ranges::stable_sort(ranking, [](const Filter& a, const Filter& b) {
      return a.importance != b.importance ? a.importance < b.importance : a.pruned && !b.pruned;
    });

    auto left = static_cast<std::int64_t>(std::floor(ratio * static_cast<double>(mask.weights())));
    for (const Filter& filter : ranking) {
      if (removable[filter.layer] == 0) continue;
      if (filter.weights > left) break;
      mask.layers()[filter.layer].keep.select(0, filter.row).fill_(false);
      left -= filter.weights;
      --removable[filter.layer];
    }
    return mask;
  }
};

THINPIPE_REGISTER(Pruning){
    "filters",
    "removes whole filters of smallest norm relative to their layer's, ranked over all "
    "layers together; layers compute only the others",
    describe_criterion<FiltersOptions>(), [](JsonObject& object) -> std::unique_ptr<PruningCriterion> {
      read_options<FiltersOptions>(object);
      return std::make_unique<Filters>();
    }};

}  // namespace
}  // namespace thinpipe::trainer
