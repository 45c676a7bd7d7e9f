// SPDX-License-Identifier: Apache-2.0
#include "trainer/pruning/mask_summary.hh"

namespace thinpipe::trainer {

Json summarise(const Mask& mask) {
  Json layers = Json::array();
  for (const Mask::Layer& layer : mask.layers()) {
    layers.push_back({{"name", layer.name}, {"weights", layer.weights()}, {"kept", layer.kept()}});
  }
  return layers;
}

}  // namespace thinpipe::trainer
