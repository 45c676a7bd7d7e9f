// SPDX-License-Identifier: Apache-2.0
#include "harness/run/gpu_warning.hh"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(GpuWarning, IsOfWorkersThatShareAGpu) {
  const Json computing = {{"workers", 8}, {"compute", {{"device", "cuda"}}}};
  EXPECT_EQ(warn_of_shared_gpus(computing, 8), std::nullopt);
  EXPECT_EQ(
      warn_of_shared_gpus(computing, 1),
      "8 workers share 1 GPU: they wait for each other there, so compute takes longer than with a GPU each");
  EXPECT_EQ(
      warn_of_shared_gpus({{"workers", 3}, {"collective", {{"name", "nccl"}}}}, 2),
      "3 workers share 2 GPUs: they wait for each other there, so compute and NCCL's exchange take longer than "
      "with a GPU each");
  EXPECT_EQ(warn_of_shared_gpus({{"workers", 8}, {"compute", {{"device", "cpu"}}}}, 0), std::nullopt);
}

}  // namespace
}  // namespace thinpipe
