// SPDX-License-Identifier: Apache-2.0
#include "trainer/models/layers/dropout.hh"

#include <array>
#include <mutex>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>

#include "trainer/base/philox.hh"

namespace thinpipe::trainer {
namespace {

// Returns a new generator. LibTorch 1.13 never frees a clone of a CPU generator.
torch::Generator new_generator(const torch::Device& device) {
  if (device.is_cpu()) return at::detail::createCPUGenerator();
  torch::Generator global = at::globalContext().defaultGenerator(device);
  const std::lock_guard lock(global.mutex());  // other workers' threads may be creating their models
  return global.clone();
}

}  // namespace

torch::Tensor SeededDropoutImpl::forward(const torch::Tensor& input) {
  if (!is_training() || options.p() == 0) return input;
  const double kept = 1 - options.p();
  return input * torch::empty_like(input).bernoulli_(kept, generator_).div_(kept);
}

DropoutDraws::DropoutDraws(torch::nn::Module& model, std::uint64_t seed, int rank)
    : seed_(seed),
      rank_(static_cast<std::uint32_t>(rank)),
      generator_(new_generator(model.parameters().front().device())) {
  for (const auto& module : model.modules()) {
    if (auto* dropout = module->as<SeededDropoutImpl>()) dropout->draw_from(generator_);
  }
}

void DropoutDraws::begin_step(std::int64_t iteration) {
  std::array<std::uint32_t, 2> words{};
  fill_words({.seed = seed_,
              .step = static_cast<std::uint32_t>(iteration),
              .bucket = static_cast<std::uint32_t>(Purpose::dropout),
              .rank = rank_},
             words);
  generator_.set_current_seed(std::uint64_t{words[0]} << 32U | words[1]);
}

}  // namespace thinpipe::trainer
