// SPDX-License-Identifier: Apache-2.0
// Estimates how long a thread's tensor operations would take on a device that this machine does not have.
// Each operation counts as one kernel, timed by Device's roofline. Matrix products and convolutions have
// arithmetic; everything else is a pass over its operands, and views are free.
#pragma once

#include <vector>

#include "common/protocol/device.hh"
#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

// Counts the operations of the thread that created it, including backward's, until it is destroyed.
class RooflineClock {
 public:
  // `device` must outlive this object. A thread can have one clock at a time.
  explicit RooflineClock(const Device& device);
  ~RooflineClock();
  RooflineClock(const RooflineClock&) = delete;
  RooflineClock& operator=(const RooflineClock&) = delete;
  RooflineClock(RooflineClock&&) = delete;
  RooflineClock& operator=(RooflineClock&&) = delete;

  double elapsed_s() const { return elapsed_s_; }
  double flops() const { return flops_; }

  // Called at the beginning and the end of each operation, including nested ones.
  void begin(std::vector<torch::IValue> inputs);
  void end(const std::string& name, const std::vector<torch::IValue>& outputs);

 private:
  struct Operation {
    std::vector<torch::IValue> inputs;  // kept here, because they may be gone at the operation's end
    bool counted = false;               // whether a nested operation has been counted
  };

  void add(double flops, double bytes);

  const Device& device_;
  double elapsed_s_ = 0;
  double flops_ = 0;
  std::vector<Operation> open_;  // operations in progress, outermost first
  std::uint64_t callback_;
};

}  // namespace thinpipe::trainer
