// SPDX-License-Identifier: Apache-2.0
// Implemented by methods that keep a fraction of the entries, which `netsense` may change from step to step.
#pragma once

namespace thinpipe::trainer {

class AdjustableRatio {
 public:
  AdjustableRatio() = default;
  virtual ~AdjustableRatio() = default;
  AdjustableRatio(const AdjustableRatio&) = delete;
  AdjustableRatio& operator=(const AdjustableRatio&) = delete;
  AdjustableRatio(AdjustableRatio&&) = delete;
  AdjustableRatio& operator=(AdjustableRatio&&) = delete;

  // Returns the kept fraction, after any warm-up.
  virtual double ratio() const = 0;

  // Sets it: above 0 and at most 1. Call between steps, on every worker alike. Checkpoints do not contain it.
  virtual void set_ratio(double ratio) = 0;
};

}  // namespace thinpipe::trainer
