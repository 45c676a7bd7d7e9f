// How long the tensor operations of a thread would take on a device that is not here: each is taken for one
// kernel, timed by Device's roofline. Products and convolutions have arithmetic; everything else is a pass
// over its operands, and views are free.
#pragma once

#include <vector>

#include "harness/replay/device.hh"
#include "trainer/tensors.hh"

namespace thinpipe::trainer {

// Counts the operations of the thread that made it, backward's included, until it goes.
class KernelClock {
 public:
  // `device` must outlive this. One at a time in a thread.
  explicit KernelClock(const Device& device);
  ~KernelClock();
  KernelClock(const KernelClock&) = delete;
  KernelClock& operator=(const KernelClock&) = delete;
  KernelClock(KernelClock&&) = delete;
  KernelClock& operator=(KernelClock&&) = delete;

  double elapsed_s() const { return elapsed_s_; }
  double flops() const { return flops_; }

  // Called at the beginning and the end of each operation, those within others too.
  void begin(std::vector<torch::IValue> inputs);
  void end(const std::string& name, const std::vector<torch::IValue>& outputs);

 private:
  struct Operation {
    std::vector<torch::IValue> inputs;  // at its end they may be gone
    bool counted = false;               // a part of it has been
  };

  void add(double flops, double bytes);

  const Device& device_;
  double elapsed_s_ = 0;
  double flops_ = 0;
  std::vector<Operation> open_;  // that have begun, outermost first
  std::uint64_t callback_;
};

}  // namespace thinpipe::trainer
