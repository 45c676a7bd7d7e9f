// Where forward and backward run. Gradients are synchronised in main memory, wherever they were computed.
#pragma once

#include "trainer/torch.hh"

namespace thinpipe::trainer {

// "cpu", or "cuda": GPU rank modulo the number of GPUs. Throws Error where LibTorch finds none.
torch::Device device_for(const std::string& name, int rank);

// While it lives, matrix products and convolutions on the GPU take bfloat16 operands, if enabled; weights,
// gradients and sums stay float32.
class Autocast {
 public:
  explicit Autocast(bool enabled);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;
  Autocast(Autocast&&) = delete;
  Autocast& operator=(Autocast&&) = delete;

 private:
  bool enabled_;
};

}  // namespace thinpipe::trainer
