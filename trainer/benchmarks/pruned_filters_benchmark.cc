// SPDX-License-Identifier: Apache-2.0
// The compute of an iteration, forward and backward, of a model whose filters are pruned, next to the same model
// pruned by magnitude, in one run.
#include <chrono>

#include <benchmark/benchmark.h>

#include "trainer/models/loss.hh"
#include "trainer/models/model.hh"
#include "trainer/pruning/pruning.hh"

namespace thinpipe::trainer {
namespace {

constexpr DataShape images{.channels = 3, .height = 32, .width = 32, .classes = 10};

struct Measured {
  const char* name;
  Json model;
  std::int64_t batch_size;
};

class PrunedModel {
 public:
  PrunedModel(const Measured& measured, const char* criterion, double ratio) {
    torch::manual_seed(1);
    const Place place{"benchmark", ""};
    model_ = ModelRegistry::instance().make(measured.model, place, images);
    const auto dataset = DatasetRegistry::instance().make({{"name", "synthetic"}}, place, Files::outlined);
    const Pruning pruning = make_pruning({{"criterion", criterion}, {"ratio", ratio}}, place);
    const Mask mask = pruning.criterion->choose(*model_, {.dataset = *dataset}, ratio);
    mask.apply(*model_);
    density_ = mask.density();
    inputs_ = torch::randn({measured.batch_size, images.channels, images.height, images.width});
    labels_ = torch::randint(images.classes, {measured.batch_size});
    iteration_s();  // the first iteration touches memory that later ones reuse
  }

  double iteration_s() {
    model_->zero_grad();
    const auto began = std::chrono::steady_clock::now();
    cross_entropy(model_->forward(inputs_), labels_).backward();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }

  double density() const { return density_; }

 private:
  std::shared_ptr<Model> model_;
  torch::Tensor inputs_;
  torch::Tensor labels_;
  double density_ = 0;
};

// Prunes range(0) percent. "over_magnitude": compute time relative to the model pruned by magnitude, the smallest
// of each over the iterations, because other programs only add time. "density": weights that `filters` kept.
void compute_without_pruned_filters(benchmark::State& state, const Measured& measured) {
  at::set_num_threads(1);
  const double ratio = 0.01 * static_cast<double>(state.range(0));
  PrunedModel filters(measured, "filters", ratio);
  PrunedModel magnitude(measured, "magnitude", ratio);
  double filters_s = filters.iteration_s();
  double magnitude_s = magnitude.iteration_s();
  for (auto _ : state) {
    filters_s = std::min(filters_s, filters.iteration_s());
    magnitude_s = std::min(magnitude_s, magnitude.iteration_s());
  }
  state.counters["magnitude_ms"] = 1e3 * magnitude_s;
  state.counters["over_magnitude"] = filters_s / magnitude_s;
  state.counters["density"] = filters.density();
}

const bool registered = [] {
  static const std::vector<Measured> all = {{"small_cnn", {{"name", "small_cnn"}}, 32},
                                            {"resnet20", {{"name", "resnet20"}}, 32},
                                            {"mlp", {{"name", "mlp"}}, 32},
                                            {"vgg16", {{"name", "vgg16"}}, 8}};
  for (const Measured& measured : all) {
    benchmark::RegisterBenchmark(
        (std::string("compute_without_pruned_filters/") + measured.name).c_str(),
        [&measured](benchmark::State& state) { compute_without_pruned_filters(state, measured); })
        ->ArgName("percent")
        ->Arg(0)
        ->Arg(20)
        ->Arg(50)
        ->Arg(80)
        ->Unit(benchmark::kMillisecond);
  }
  return true;
}();

}  // namespace
}  // namespace thinpipe::trainer
