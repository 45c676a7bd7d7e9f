// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/evaluation.hh"

#include <algorithm>
#include <cmath>
#include <limits>

#include "trainer/datasets/batch_loader.hh"
#include "trainer/models/loss.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::int64_t kLargestBatch = 500;
// Neither the logits of a batch nor the activations of its widest layer should be more numbers: 256 MiB in
// float32.
constexpr std::int64_t kBatchNumbers = std::int64_t{1} << 26;
// In the first layers of a convolutional network, for each number of an input.
constexpr std::int64_t kActivationsPerInput = 32;
// Sums are exchanged as whole millionths, because the order of adding integers does not matter. Larger sums
// (of a diverged loss) saturate, so that those of all workers together fit into 64 bits.
constexpr double kMillionths = 1e6;
constexpr double kLargestSum = 1e11;
constexpr double kLargestTotal = 9e12;

std::int64_t in_millionths(double sum, int workers) {
  const double largest = std::min(kLargestSum, kLargestTotal / workers);
  return std::llround(std::clamp(sum, -largest, largest) * kMillionths);
}

struct Total {
  double sum = 0;
  std::int64_t count = 0;
};

// Adds up the workers' sums and counts. The total sum is NaN if a worker's is not finite.
Total total_over_workers(double sum, std::int64_t count, Collective& collective) {
  const bool is_finite = std::isfinite(sum);
  const torch::Tensor totals =
      torch::tensor({is_finite ? in_millionths(sum, collective.world_size()) : std::int64_t{0}, count,
                     std::int64_t{is_finite ? 0 : 1}},
                    torch::kLong);
  collective.all_reduce(totals, Reduction::sum);
  return {.sum = totals[2].item<std::int64_t>() > 0
                     ? std::numeric_limits<double>::quiet_NaN()
                     : static_cast<double>(totals[0].item<std::int64_t>()) / kMillionths,
          .count = totals[1].item<std::int64_t>()};
}

}  // namespace

std::int64_t evaluation_batch(const Dataset& dataset) {
  const Examples& test = dataset.test();
  const auto per_example = [&test](const torch::Tensor& tensor) {
    return tensor.numel() / std::max(test.size(), std::int64_t{1});
  };
  const std::int64_t numbers = std::max({per_example(test.labels) * dataset.shape().classes,
                                         per_example(test.inputs) * kActivationsPerInput, std::int64_t{1}});
  return std::clamp(kBatchNumbers / numbers, std::int64_t{1}, kLargestBatch);
}

PartialEvaluation evaluate_part(Model& model, const Dataset& dataset, std::int64_t rank,
                                std::int64_t world_size) {
  const torch::NoGradGuard no_grad;
  const torch::Device device = model.parameters().front().device();
  model.eval();
  const Examples& test = dataset.test();
  const std::int64_t begin = test.size() * rank / world_size;
  const std::int64_t end = test.size() * (rank + 1) / world_size;
  const std::int64_t size = evaluation_batch(dataset);
  PartialEvaluation part;
  for (std::int64_t i = begin; i < end; i += size) {
    const Batch batch = prepare_batch(dataset, test, i, std::min(size, end - i)).to(device);
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
  share_running_statistics(model, collective, statistics);
  const PartialEvaluation part = evaluate_part(model, dataset, collective.rank(), collective.world_size());
  const Total total = total_over_workers(part.loss_sum, part.correct, collective);
  const auto labels = static_cast<double>(dataset.test().labels.numel());
  return {.loss = total.sum / labels, .accuracy = static_cast<double>(total.count) / labels};
}

void evaluate_one_batch(Model& model, const Dataset& dataset) {
  const torch::NoGradGuard no_grad;
  const std::int64_t size = std::min(evaluation_batch(dataset), dataset.test().size());
  const Batch batch = prepare_batch(dataset, dataset.test(), 0, size).to(model.parameters().front().device());
  model.eval();
  model.forward(batch.inputs);
  model.train();
}

double mean_over_workers(double sum, std::int64_t count, Collective& collective) {
  const Total total = total_over_workers(sum, count, collective);
  return total.sum / static_cast<double>(total.count);
}

}  // namespace thinpipe::trainer
