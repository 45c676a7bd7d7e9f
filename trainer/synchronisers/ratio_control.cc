// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/ratio_control.hh"

#include <algorithm>
#include <cmath>

namespace thinpipe::trainer {
namespace {

constexpr double weight_of_new_step = 1.0 / 8;
constexpr double tolerance = 0.1;
constexpr double largest_change = 2;

}  // namespace

RatioControl::RatioControl(const RatioLimits& limits, double ratio)
    : limits_(limits), ratio_(within_limits(ratio)) {}

double RatioControl::within_limits(double ratio) const {
  return std::clamp(ratio, limits_.minimum_ratio, limits_.maximum_ratio);
}

void RatioControl::observe(const Observation& step) {
  compute_s_ =
      compute_s_ == 0 ? step.compute_s : compute_s_ + weight_of_new_step * (step.compute_s - compute_s_);
  ++steps_;
  sum_of_ratios_ += ratio_;
  sum_of_exchanges_s_ += step.exchange_s;
  sum_of_budgets_s_ += budget_s();
  // Without a network an exchange may take no time at all.
  const double room = step.exchange_s > 0 ? budget_s() / step.exchange_s : largest_change;
  if (std::abs(room - 1) <= tolerance) return;
  ratio_ = within_limits(ratio_ * std::clamp(room, 1 / largest_change, largest_change));
}

Json RatioControl::state() const {
  const auto mean = [this](double sum) { return steps_ > 0 ? Json(sum / steps_) : Json(nullptr); };
  return {{"ratio", ratio_},
          {"mean_ratio", mean(sum_of_ratios_)},
          {"mean_exchange_s", mean(sum_of_exchanges_s_)},
          {"mean_exchange_budget_s", mean(sum_of_budgets_s_)}};
}

void RatioControl::save(TensorMap& state, const std::string& prefix) const {
  state[prefix + "control"] = torch::tensor(
      {ratio_, compute_s_, steps_, sum_of_ratios_, sum_of_exchanges_s_, sum_of_budgets_s_}, torch::kDouble);
}

void RatioControl::load(const TensorMap& state, const std::string& prefix) {
  const torch::Tensor saved =
      expect_tensor(state, prefix + "control", torch::empty({6}, torch::kDouble), "checkpoint");
  ratio_ = within_limits(saved[0].item<double>());
  compute_s_ = saved[1].item<double>();
  steps_ = saved[2].item<double>();
  sum_of_ratios_ = saved[3].item<double>();
  sum_of_exchanges_s_ = saved[4].item<double>();
  sum_of_budgets_s_ = saved[5].item<double>();
}

}  // namespace thinpipe::trainer
