// SPDX-License-Identifier: Apache-2.0
#include "trainer/exchange/error_meter.hh"

namespace thinpipe::trainer {
namespace {

double squared_norm(const torch::Tensor& values) {
  return values.square().sum(torch::kDouble).item<double>();
}

}  // namespace

void ErrorMeter::before(const Bucket& bucket) {
  mean_ = bucket.gradient.div(unmetered_.world_size());
  unmetered_.all_reduce(mean_, Reduction::sum);
}

void ErrorMeter::after(const Bucket& bucket) {
  step_.error += squared_norm(bucket.gradient - mean_);
  step_.mean += squared_norm(mean_);
}

void ErrorMeter::finish_step(bool applied) {
  if (applied) {
    total_.error += step_.error;
    total_.mean += step_.mean;
  }
  step_ = {};
}

std::optional<double> ErrorMeter::vnmse() const {
  return total_.mean > 0 ? std::optional(total_.error / total_.mean) : std::nullopt;
}

torch::Tensor ErrorMeter::saved() const {
  return torch::tensor({total_.error, total_.mean}, torch::kDouble);
}

void ErrorMeter::load(const torch::Tensor& saved) {
  total_ = {.error = saved[0].item<double>(), .mean = saved[1].item<double>()};
}

}  // namespace thinpipe::trainer
