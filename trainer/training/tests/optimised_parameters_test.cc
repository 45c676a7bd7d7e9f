// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "trainer/training/training_setup.hh"

namespace thinpipe::trainer {
namespace {

std::map<std::string, bool> hidden_weights_of(const Model& model) {
  const OptimisedParameters parameters = optimised_parameters_of(model);
  std::map<std::string, bool> hidden;
  std::size_t p = 0;
  for (const auto& parameter : model.named_parameters()) {
    EXPECT_TRUE(parameters.all[p].is_same(parameter.value())) << parameter.key();
    hidden[parameter.key()] = parameters.is_hidden_weight[p++];
  }
  EXPECT_EQ(parameters.all.size(), p);
  return hidden;
}

TEST(OptimisedParameters, HiddenWeightsAreThoseOfLayersButTheLast) {
  const auto recurrent =
      ModelRegistry::instance().make({{"name", "char_lstm"}}, {}, {.classes = 256, .sequence_length = 8});
  const auto hidden = hidden_weights_of(*recurrent);
  for (const char* name : {"rnn.weight_ih_l0", "rnn.weight_hh_l1"}) EXPECT_TRUE(hidden.at(name)) << name;
  for (const char* name : {"encoder.weight", "decoder.weight", "decoder.bias", "rnn.bias_ih_l0"})
    EXPECT_FALSE(hidden.at(name)) << name;
}

}  // namespace
}  // namespace thinpipe::trainer
