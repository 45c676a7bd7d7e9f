#include "trainer/evaluation.hh"

#include <algorithm>
#include <cmath>

namespace thinpipe::trainer {
namespace {

constexpr std::int64_t kBatch = 500;
// Sums travel as whole millionths: integers add up the same in any order. Beyond this (a diverged loss) they
// saturate.
constexpr double kMillionths = 1e6;
constexpr double kLargestSum = 1e11;

std::int64_t in_millionths(double sum) {
  // NaN fails every comparison and would be undefined as an integer.
  const double bounded = std::isnan(sum) ? kLargestSum : std::clamp(sum, -kLargestSum, kLargestSum);
  return std::llround(bounded * kMillionths);
}

void share_buffers(torch::nn::Module& model, Collective& collective) {
  for (torch::Tensor& buffer : model.buffers()) {
    torch::Tensor flat = buffer.reshape({-1});
    collective.broadcast(flat, 0);
    buffer.copy_(flat.view(buffer.sizes()));
  }
}

}  // namespace

Evaluation evaluate(Model& model, const Dataset& dataset, Collective& collective) {
  const torch::NoGradGuard no_grad;
  share_buffers(model, collective);
  model.eval();
  const Examples& test = dataset.test();
  const std::int64_t begin = test.size() * collective.rank() / collective.world_size();
  const std::int64_t end = test.size() * (collective.rank() + 1) / collective.world_size();
  double loss = 0;
  std::int64_t correct = 0;
  for (std::int64_t i = begin; i < end; i += kBatch) {
    const std::int64_t count = std::min(kBatch, end - i);
    const torch::Tensor labels = test.labels.narrow(0, i, count);
    const torch::Tensor logits = model.forward(dataset.normalise(test.images.narrow(0, i, count)));
    loss += torch::nn::functional::cross_entropy(
                logits, labels, torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum))
                .item<double>();
    correct += logits.argmax(1).eq(labels).sum().item<std::int64_t>();
  }
  model.train();
  const torch::Tensor sums = torch::tensor({in_millionths(loss), correct}, torch::kLong);
  collective.all_reduce(sums, Reduction::sum);
  const auto examples = static_cast<double>(test.size());
  return {.loss = static_cast<double>(sums[0].item<std::int64_t>()) / kMillionths / examples,
          .accuracy = static_cast<double>(sums[1].item<std::int64_t>()) / examples};
}

double mean_over_workers(double sum, std::int64_t count, Collective& collective) {
  const torch::Tensor sums = torch::tensor({in_millionths(sum), count}, torch::kLong);
  collective.all_reduce(sums, Reduction::sum);
  return static_cast<double>(sums[0].item<std::int64_t>()) / kMillionths /
         static_cast<double>(sums[1].item<std::int64_t>());
}

}  // namespace thinpipe::trainer
