// SPDX-License-Identifier: Apache-2.0
// Dropout that depends on (seed, rank, iteration) alone, as augmentation depends on (seed, epoch, example).
// Workers drop different units, whether they are threads or processes, and a resumed run drops the same units
// as an uninterrupted one.
#pragma once

#include "trainer/base/modules.hh"

namespace thinpipe::trainer {

// torch::nn::Dropout with its own generator. All models use this class.
class SeededDropoutImpl : public torch::nn::DropoutImpl {
 public:
  explicit SeededDropoutImpl(double probability) : DropoutImpl(torch::nn::DropoutOptions(probability)) {}

  torch::Tensor forward(const torch::Tensor& input);

  // Before this call, dropout draws from torch's global generator.
  void draw_from(const torch::Generator& generator) { generator_ = generator; }

 protected:
  torch::Generator generator_;
};
TORCH_MODULE(SeededDropout);

// The dropout of one worker's model: all layers draw from one generator, in the order of the forward pass.
class DropoutDraws {
 public:
  // The model must already be on the device where it will compute.
  DropoutDraws(torch::nn::Module& model, std::uint64_t seed, int rank);

  void begin_step(std::int64_t iteration);

 private:
  std::uint64_t seed_;
  std::uint32_t rank_;
  torch::Generator generator_;
};

}  // namespace thinpipe::trainer
