// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/evaluation.hh"

#include <algorithm>
#include <cmath>

#include "trainer/datasets/batch_loader.hh"
#include "trainer/models/loss.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::int64_t kBatch = 500;
// Sums are exchanged as whole millionths, because the order of adding integers does not matter. Larger sums
// (of a diverged loss) saturate, so that those of all workers together fit into 64 bits.
constexpr double kMillionths = 1e6;
constexpr double kLargestSum = 1e11;
constexpr double kLargestTotal = 9e12;

std::int64_t in_millionths(double sum, int workers) {
  const double largest = std::min(kLargestSum, kLargestTotal / workers);
  // NaN fails every comparison, and its conversion to an integer would be undefined.
  const double bounded = std::isnan(sum) ? largest : std::clamp(sum, -largest, largest);
  return std::llround(bounded * kMillionths);
}

void share_buffers(torch::nn::Module& model, Collective& collective, RunningStatistics statistics) {
  for (torch::Tensor& buffer : model.buffers()) {
    torch::Tensor flat = buffer.cpu().reshape({-1});
    // Integers count batches, which are equally many on every worker.
    if (statistics == RunningStatistics::mean && flat.is_floating_point()) {
      flat.div_(collective.world_size());
      collective.all_reduce(flat, Reduction::sum);
    } else {
      collective.broadcast(flat, 0);
    }
    buffer.copy_(flat.view(buffer.sizes()));
  }
}

}  // namespace

PartialEvaluation evaluate_part(Model& model, const Dataset& dataset, std::int64_t rank,
                                std::int64_t world_size) {
  const torch::NoGradGuard no_grad;
  const torch::Device device = model.parameters().front().device();
  model.eval();
  const Examples& test = dataset.test();
  const std::int64_t begin = test.size() * rank / world_size;
  const std::int64_t end = test.size() * (rank + 1) / world_size;
  PartialEvaluation part;
  for (std::int64_t i = begin; i < end; i += kBatch) {
    const Batch batch = prepare_batch(dataset, test, i, std::min(kBatch, end - i)).to(device);
    const torch::Tensor logits = model.forward(batch.inputs);
    part.loss_sum += summed_cross_entropy(logits, batch.labels).item<double>();
    part.correct += logits.argmax(-1).eq(batch.labels).sum().item<std::int64_t>();
  }
  model.train();
  return part;
}

Evaluation evaluate(Model& model, const Dataset& dataset, Collective& collective,
                    RunningStatistics statistics) {
  const torch::NoGradGuard no_grad;
  share_buffers(model, collective, statistics);
  const PartialEvaluation part = evaluate_part(model, dataset, collective.rank(), collective.world_size());
  const torch::Tensor sums =
      torch::tensor({in_millionths(part.loss_sum, collective.world_size()), part.correct}, torch::kLong);
  collective.all_reduce(sums, Reduction::sum);
  const auto labels = static_cast<double>(dataset.test().labels.numel());
  return {.loss = static_cast<double>(sums[0].item<std::int64_t>()) / kMillionths / labels,
          .accuracy = static_cast<double>(sums[1].item<std::int64_t>()) / labels};
}

void evaluate_one_batch(Model& model, const Dataset& dataset) {
  const torch::NoGradGuard no_grad;
  const std::int64_t size = std::min(kBatch, dataset.test().size());
  const Batch batch = prepare_batch(dataset, dataset.test(), 0, size).to(model.parameters().front().device());
  model.eval();
  model.forward(batch.inputs);
  model.train();
}

double mean_over_workers(double sum, std::int64_t count, Collective& collective) {
  const torch::Tensor sums =
      torch::tensor({in_millionths(sum, collective.world_size()), count}, torch::kLong);
  collective.all_reduce(sums, Reduction::sum);
  return static_cast<double>(sums[0].item<std::int64_t>()) / kMillionths /
         static_cast<double>(sums[1].item<std::int64_t>());
}

}  // namespace thinpipe::trainer
