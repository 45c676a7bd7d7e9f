// SPDX-License-Identifier: Apache-2.0
// Chooses the kept fraction of the entries such that an exchange takes as long as it may.
#pragma once

#include "common/support/options.hh"
#include "trainer/base/tensor_map.hh"
#include "trainer/synchronisers/observation.hh"

namespace thinpipe::trainer {

struct RatioLimits {
  double minimum_ratio = 0.001;
  double maximum_ratio = 0.1;
  double exchange_share = 1;

  void visit(auto& field) {
    field("minimum_ratio", minimum_ratio, Rule{.effect = "smallest kept fraction", .above = 0, .at_most = 1});
    field("maximum_ratio", maximum_ratio, Rule{.effect = "largest kept fraction", .above = 0, .at_most = 1});
    field("exchange_share", exchange_share,
          Rule{.effect = "time that an exchange may take, as a share of a step's compute time", .above = 0});
  }
};

// With the time budget T = exchange_share·c, where c is the mean compute time of recent steps (a new step has weight 1/8),
// and an exchange that took t:
//   ρ' = ρ·T/t, but at least ρ/2 and at most 2ρ;  ρ' = ρ if T/t is within 10 % of 1
// An exchange whose time is a latency plus its bytes over a rate thus approaches T, or ρ one of its limits.
class RatioControl {
 public:
  // ratio: the first one; it is moved within the limits.
  RatioControl(const RatioLimits& limits, double ratio);

  double ratio() const { return ratio_; }

  void observe(const Observation& step);

  // {"ratio": of the next step, "mean_ratio", "mean_exchange_s", "mean_exchange_budget_s": over the steps so far; null before
  // the first}
  Json state() const;

  void save(TensorMap& state, const std::string& prefix) const;
  // Throws Error if `state` is damaged.
  void load(const TensorMap& state, const std::string& prefix);

 private:
  double budget_s() const { return limits_.exchange_share * compute_s_; }
  double within_limits(double ratio) const;

  RatioLimits limits_;
  double ratio_;
  double compute_s_ = 0;  // 0 before the first step
  // Over the steps so far:
  double steps_ = 0;
  double sum_of_ratios_ = 0;
  double sum_of_exchanges_s_ = 0;
  double sum_of_budgets_s_ = 0;
};

}  // namespace thinpipe::trainer
