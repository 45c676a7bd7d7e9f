// SPDX-License-Identifier: Apache-2.0
// A worker's weights at the point where its method wants the gradient evaluated
// (Synchroniser::evaluation_shift):
//
//   method.begin_step(step);
//   {
//     const ShiftedWeights shifted(model.parameters(), method);
//     loss = forward(batch);
//     loss.backward();
//   }                                              // the weights have their bits again
//   optimiser.step();
#pragma once

#include <vector>

#include "trainer/base/modules.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {

class ShiftedWeights {
 public:
  // Shifts the weights if the method does. parameters: all that the method knows, in its order.
  ShiftedWeights(const std::vector<torch::Tensor>& parameters, const Synchroniser& method);
  // Copies the original weights back: subtracting the shift would round.
  ~ShiftedWeights();
  ShiftedWeights(const ShiftedWeights&) = delete;
  ShiftedWeights& operator=(const ShiftedWeights&) = delete;
  ShiftedWeights(ShiftedWeights&&) = delete;
  ShiftedWeights& operator=(ShiftedWeights&&) = delete;

 private:
  struct Shifted {
    torch::Tensor weights;
    torch::Tensor original;
  };

  std::vector<Shifted> shifted_;
};

}  // namespace thinpipe::trainer
