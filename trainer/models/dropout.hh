// Dropout that depends on (seed, rank, iteration) alone, as augmentation does on (seed, epoch, example):
// workers drop different units, whether they are threads of one process or processes, and a resumed run drops
// what the run without a break drops.
#pragma once

#include "trainer/modules.hh"

namespace thinpipe::trainer {

// torch::nn::Dropout with a generator of its own. Models use this one.
class SeededDropoutImpl : public torch::nn::DropoutImpl {
 public:
  explicit SeededDropoutImpl(double probability) : DropoutImpl(torch::nn::DropoutOptions(probability)) {}

  torch::Tensor forward(const torch::Tensor& input);

  // Until then it draws from torch's global generator.
  void draw_from(const torch::Generator& generator) { generator_ = generator; }

 private:
  torch::Generator generator_;
};
TORCH_MODULE(SeededDropout);

// What one worker's model drops. All its layers draw from one generator, in the order of its forward pass.
class DropoutDraws {
 public:
  // The model must be on the device where it will compute.
  DropoutDraws(torch::nn::Module& model, std::uint64_t seed, int rank);

  void begin_step(std::int64_t iteration);

 private:
  std::uint64_t seed_;
  std::uint32_t rank_;
  torch::Generator generator_;
};

}  // namespace thinpipe::trainer
