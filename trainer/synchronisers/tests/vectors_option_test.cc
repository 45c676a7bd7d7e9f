// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {
namespace {

TEST(VectorsOption, CompressesVectorsOnlyIfAsked) {
  const ParameterInfo bias{.name = "bias", .size = 8, .dimensions = 1};
  const ParameterInfo matrix{.name = "weight", .size = 8, .dimensions = 2};
  for (const std::string name : {"sbc", "topk", "ok_topk", "spardl"}) {
    for (const std::string vectors : {"dense", "compressed"}) {
      SCOPED_TRACE(name + ", " + vectors);
      const auto method = SynchroniserRegistry::instance().make(
          {{"name", name}, {"ratio", 0.1}, {"vectors", vectors}}, {"test", ""}, {});
      EXPECT_EQ(method->leaves_dense(bias), vectors == "dense");
      EXPECT_FALSE(method->leaves_dense(matrix));
    }
  }
}

}  // namespace
}  // namespace thinpipe::trainer
