// SPDX-License-Identifier: Apache-2.0
// The option "vectors" of sparsifiers. Biases and normalisation layers are small, and sparse they may hold training
// back; but they cost a collective of their own, which the published code of some methods does not have.
#pragma once

#include <string>

#include "common/support/options.hh"
#include "trainer/base/bucket.hh"

namespace thinpipe::trainer {

inline Rule vectors_rule() {
  return {.effect =
              "biases and normalisation layers: dense, averaged uncompressed; compressed, like every "
              "other tensor",
          .one_of = {"dense", "compressed"}};
}

inline bool stays_dense(const ParameterInfo& parameter, const std::string& vectors) {
  return parameter.dimensions <= 1 && vectors == "dense";
}

}  // namespace thinpipe::trainer
