// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/progress.hh"

#include "trainer/training/checkpoint.hh"

namespace thinpipe::trainer {
namespace {

constexpr const char* counts_key = "loop.counts";
constexpr const char* sums_key = "loop.sums";

}  // namespace

void Progress::add(const StepReport& report, double iteration_time_s, double loss) {
  ++iteration;
  train_time_s += iteration_time_s;
  loss_sum += loss;
  ++loss_count;
  total += report.section;
  skipped += report.applied ? 0 : report.steps;
  if (report.exchanged) skipped_in_a_row = report.applied ? 0 : skipped_in_a_row + 1;
}

std::optional<double> Progress::mean_s(double sum_s) const {
  const std::int64_t timed = iteration - timed_after;
  return timed > 0 ? std::optional(sum_s / static_cast<double>(timed)) : std::nullopt;
}

void Progress::save(TensorMap& state) const {
  state[counts_key] = torch::tensor(
      {iteration, skipped, skipped_in_a_row, loss_count, total.payload_bytes, total.collectives},
      torch::kLong);
  state[sums_key] = torch::tensor({train_time_s, loss_sum, total.sent_bytes, pruning_time_s}, torch::kDouble);
}

void Progress::load(const TensorMap& state) {
  const torch::Tensor counts =
      expect_tensor(state, counts_key, torch::empty({6}, torch::kLong), "checkpoint");
  iteration = timed_after = counts[0].item<std::int64_t>();
  skipped = counts[1].item<std::int64_t>();
  skipped_in_a_row = counts[2].item<std::int64_t>();
  loss_count = counts[3].item<std::int64_t>();
  total.payload_bytes = counts[4].item<std::int64_t>();
  total.collectives = counts[5].item<std::int64_t>();
  const torch::Tensor sums = expect_tensor(state, sums_key, torch::empty({4}, torch::kDouble), "checkpoint");
  train_time_s = sums[0].item<double>();
  loss_sum = sums[1].item<double>();
  total.sent_bytes = sums[2].item<double>();
  pruning_time_s = sums[3].item<double>();
}

}  // namespace thinpipe::trainer
