// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/running_statistics.hh"

#include "trainer/models/batch_normalisation.hh"
#include "trainer/training/float_buffers.hh"

namespace thinpipe::trainer {

void share_running_statistics(Model& model, Collective& collective, RunningStatistics statistics) {
  const torch::NoGradGuard no_grad;
  for (torch::Tensor& buffer : model.buffers()) {
    torch::Tensor flat = buffer.cpu().reshape({-1});
    // Integers count batches, which are equally many on every worker.
    if (statistics == RunningStatistics::mean && flat.is_floating_point()) {
      flat.div_(collective.world_size());
      collective.all_reduce(flat, Reduction::sum);
    } else {
      collective.broadcast(flat, 0);
    }
    buffer.copy_(flat.view(buffer.sizes()));
  }
}

void estimate_running_statistics(Model& model, const std::function<Batch(std::int64_t)>& load) {
  const torch::NoGradGuard no_grad;
  // Everything else as in evaluations: dropout would draw numbers that training draws otherwise.
  model.eval();
  bool normalises = false;
  model.apply([&](torch::nn::Module& module) {
    if (!normalises_batches(module)) return;
    module.train();
    normalises = true;
  });
  if (normalises) {
    const torch::Device device = model.parameters().front().device();
    const FloatBuffers statistics(model);
    for (std::int64_t i = 0; i < estimation_batches; ++i) {
      const std::vector<torch::Tensor> before = statistics.copy();
      model.forward(load(i).to(device).inputs);
      if (!statistics.are_finite()) statistics.restore(before);
    }
  }
  model.train();
}

}  // namespace thinpipe::trainer
