// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/compute_cost.hh"

#include <algorithm>

#include "trainer/base/device.hh"
#include "trainer/base/process.hh"
#include "trainer/base/stopwatch.hh"
#include "trainer/datasets/batch_loader.hh"
#include "trainer/optimisers/optimiser.hh"
#include "trainer/training/evaluation.hh"
#include "trainer/training/training_setup.hh"

namespace thinpipe::trainer {
namespace {

// The first iteration also allocates memory that later ones reuse.
constexpr std::int64_t kIterations = 6;
// For a large model on a slow machine, stops after this time with fewer iterations.
constexpr double kEnough_s = 5;

}  // namespace

ComputeCost measure_compute_cost(const TrainingConfig& config) {
  compute_on_one_thread();
  const std::unique_ptr<Dataset> dataset = make_dataset(config);
  const std::shared_ptr<Model> model = make_model(config, dataset->shape());
  const torch::Device device = device_for(config.compute.device, 0);
  model->to(device);
  const auto optimiser = OptimiserRegistry::instance().make(
      config.optimiser, kConfigurationPlace / "optimiser", optimised_parameters_of(*model));
  BatchLoader loader(*dataset, {.examples = dataset->train().size(),
                                .batch_size_per_worker = config.training.batch_size_per_worker,
                                .seed = static_cast<std::uint64_t>(config.seed)});
  std::vector<double> times_s;
  const Stopwatch whole;
  for (std::int64_t i = 0; i < kIterations && (i < 2 || whole.elapsed_s() < kEnough_s); ++i) {
    const Batch batch = loader.load(i % loader.batches_per_epoch()).to(device);
    const Stopwatch stopwatch;
    optimiser->zero_grad();
    const torch::Tensor loss = training_loss(config, *model, batch);
    loss.backward();
    optimiser->step();
    static_cast<void>(loss.item<double>());  // waits for a GPU
    if (i > 0) times_s.push_back(stopwatch.elapsed_s());
  }
  evaluate_one_batch(*model, *dataset);  // which may need more memory than training does
  std::ranges::sort(times_s);
  std::int64_t elements = 0;
  for (const torch::Tensor& parameter : model->parameters()) elements += parameter.numel();
  return {.compute_s = times_s[times_s.size() / 2], .memory_bytes = peak_memory_bytes() + 4 * elements};
}

}  // namespace thinpipe::trainer
