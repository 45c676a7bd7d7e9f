// SPDX-License-Identifier: Apache-2.0
// Tests that need a GPU. Each skipped case prints what it needs.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include "common/support/tests/temporary_folder.hh"
#include "trainer/base/device.hh"
#include "trainer/collectives/backends/nccl.hh"
#include "trainer/collectives/tests/world.hh"
#include "trainer/training/tests/training.hh"

namespace thinpipe::trainer {
namespace {

using testing::configured;
using testing::Result;
using testing::train;

int gpus() {
  return static_cast<int>(torch::cuda::device_count());
}

#define NEEDS_GPUS(count) \
  if (gpus() < (count)) GTEST_SKIP() << "LibTorch finds " << gpus() << " GPUs; this test needs " << (count)

double last_test_loss(const Result& result) {
  return result.evaluations.back()["test_loss"].get<double>();
}

// Two workers on one GPU, or on two. A GPU's kernels round differently from a CPU's.
TEST(Gpu, TrainsAsACpuDoes) {
  NEEDS_GPUS(1);
  const std::vector<Json> methods = {{{"name", "dense"}},
                                     {{"name", "fp16"}},
                                     {{"name", "bf16"}},
                                     {{"name", "topk"}, {"ratio", 0.1}},
                                     {{"name", "pactrain"}}};
  for (const Json& method : methods) {
    const Json on = {{"synchroniser", method}, {"pruning", {{"ratio", 0.5}}}};
    Json there = on;
    there["compute"] = {{"device", "cuda"}};
    EXPECT_NEAR(last_test_loss(train(configured(2, there))), last_test_loss(train(configured(2, on))), 0.02)
        << method;
  }
}

TEST(Gpu, TrainsInBfloat16) {
  NEEDS_GPUS(1);
  const Json changes = {{"compute", {{"device", "cuda"}, {"precision", "bfloat16"}}}};
  EXPECT_NEAR(last_test_loss(train(configured(2, changes))), last_test_loss(train(configured(2))), 0.05);
}

TEST(Gpu, AMarkIsPassedWhenTheWorkBeforeItIsDone) {
  NEEDS_GPUS(1);
  const torch::Device gpu(torch::kCUDA, 0);
  const torch::Tensor copy = torch::zeros({1 << 24}, main_memory_for(gpu));
  EXPECT_TRUE(copy.is_pinned());
  DeviceEvent mark;
  copy.copy_(torch::ones({1 << 24}, gpu), true);
  mark.set(gpu);
  mark.wait();
  EXPECT_EQ(copy.min().item<float>(), 1);
}

// Alternates tensors in main memory and on the GPU.
TEST(NcclItself, DoesWhatTheOtherBackendsDo) {
  NEEDS_GPUS(2);
  if (!nccl_version()) GTEST_SKIP() << "this build has no NCCL";
  const int workers = std::min(gpus(), 8);
  for (const bool on_gpu : {false, true}) {
    testing::run_over_network("nccl", workers, [&](Collective& net) {
      const auto options =
          on_gpu
              ? torch::TensorOptions(torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(net.rank())))
              : torch::TensorOptions();
      ASSERT_TRUE(net.takes(options.device()));
      for (const torch::ScalarType type :
           {torch::kFloat32, torch::kFloat16, torch::kBFloat16, torch::kInt8}) {
        torch::Tensor sum = torch::full({100'003}, net.rank() + 1, options.dtype(type));
        net.all_reduce(sum, Reduction::sum);
        EXPECT_TRUE((sum.cpu() == workers * (workers + 1) / 2).all().item<bool>()) << type;
      }
      std::vector<std::int64_t> counts;
      for (int rank = 0; rank < workers; ++rank) counts.push_back(rank * 1000 + 1);
      const torch::Tensor own = torch::full({counts[net.rank()]}, net.rank(), options);
      const torch::Tensor gathered = net.all_gather_v(own, counts).cpu();
      std::int64_t at = 0;
      for (int rank = 0; rank < workers; ++rank) {
        EXPECT_TRUE((gathered.narrow(0, at, counts[rank]) == rank).all().item<bool>());
        at += counts[rank];
      }
      const std::vector<std::int64_t> ones(static_cast<std::size_t>(workers), 1);
      const torch::Tensor swapped =
          net.all_to_all_v(torch::full({workers}, net.rank(), options), ones, ones).cpu();
      EXPECT_TRUE(torch::equal(swapped, torch::arange(workers, torch::kFloat)));
      torch::Tensor shared = torch::full({77}, net.rank(), options);
      net.broadcast(shared, 1);
      EXPECT_TRUE((shared.cpu() == 1).all().item<bool>());
    });
  }
}

// Without the timeout the test would not end.
TEST(NcclItself, AWorkerThatDoesNotComeIsAnError) {
  NEEDS_GPUS(2);
  if (!nccl_version()) GTEST_SKIP() << "this build has no NCCL";
  const TemporaryFolder directory;
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&directory, rank] {
      const auto net = testing::join(
          "nccl",
          {.rank = rank, .world_size = 2, .address = "127.0.0.1", .rendezvous_directory = directory.path()},
          {{"timeout", "2 s"}});
      if (rank == 0) {
        EXPECT_THROW(net->all_reduce(torch::ones(1000), Reduction::sum), CollectiveError);
      } else {
        std::this_thread::sleep_for(std::chrono::seconds(5));
      }
    });
  }
}

}  // namespace
}  // namespace thinpipe::trainer
