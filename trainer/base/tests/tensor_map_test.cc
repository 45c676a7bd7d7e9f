// SPDX-License-Identifier: Apache-2.0
#include "trainer/base/tensor_map.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/exception.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::ThrowsMessage;

TEST(TensorMap, NamesATensorThatIsMissingOrHasAnotherShape) {
  const TensorMap tensors = {{"a", torch::zeros({2, 3})}};
  EXPECT_THAT([&] { expect_tensor(tensors, "b", torch::zeros({1}), "w.pt"); },
              ThrowsMessage<Error>("w.pt has no tensor \"b\""));
  EXPECT_THAT(
      [&] {
        expect_tensor(tensors, "a", torch::zeros({3, 2}), "w.pt");
      },
      ThrowsMessage<Error>("tensor \"a\" of w.pt is Float [2, 3], but Float [3, 2] is needed"));
}

}  // namespace
}  // namespace thinpipe::trainer
