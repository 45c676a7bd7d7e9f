// SPDX-License-Identifier: Apache-2.0
// Sums of vectors with few entries along a reduction tree.
#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/base/tensor_span.hh"
#include "trainer/collectives/sparse_block.hh"
#include "trainer/collectives/tests/world.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;
using testing::identical_on_all;
using testing::reduction_tree_for;
using testing::run_over_network;

// Worker `rank`'s entries: some indices overlap with other workers', and the first value is -0.
struct Entries {
  Entries(int rank, std::int64_t elements, std::int64_t distance) : tensor(torch::zeros({elements})) {
    for (std::int64_t i = rank % 3; i < elements; i += distance + rank % 2) {
      indices.push_back(static_cast<std::uint32_t>(i));
      floats(tensor)[static_cast<std::size_t>(i)] =
          i < 3 ? -0.0F : static_cast<float>(std::sin(static_cast<double>(i * (rank + 1))));
    }
  }

  torch::Tensor tensor;
  std::vector<std::uint32_t> indices;
};

struct Shape {
  std::int64_t elements;
  std::int64_t distance;
};
constexpr Shape shapes[] = {{0, 1}, {1, 1}, {100, 7}, {16384, 1}, {16385, 3}, {300'007, 5}, {300'007, 997}};

// Bits, to distinguish -0 from 0.
std::span<const std::byte> bits_of(const torch::Tensor& tensor) {
  return std::as_bytes(floats(tensor));
}

// Runs the same workers over the network and in one process.
void in_both_worlds(int world_size, const std::function<void(Collective&, const char* world)>& worker) {
  run_over_network("island", world_size, [&](Collective& net) { worker(net, "network"); });
  std::vector<int> parents = reduction_tree_for(world_size);
  if (parents.empty()) {
    for (int rank = 0; rank < world_size; ++rank) parents.push_back(rank == 0 ? -1 : (rank - 1) / 2);
  }
  run_in_process(world_size, parents, [&](std::unique_ptr<Collective> net) { worker(*net, "process"); });
}

TEST(EntrySum, IsTheSumOfAllWithTheSameBitsEverywhere) {
  for (const Shape& shape : shapes) {
    std::vector<Entries> entries;
    for (int rank = 0; rank < 8; ++rank) entries.emplace_back(rank, shape.elements, shape.distance);
    for (const int world_size : {1, 2, 3, 5, 8}) {
      torch::Tensor expected = torch::zeros({shape.elements}, torch::kDouble);
      for (int rank = 0; rank < world_size; ++rank)
        expected += entries[static_cast<std::size_t>(rank)].tensor;
      in_both_worlds(world_size, [&](Collective& net, const char* world) {
        const Entries& own = entries[static_cast<std::size_t>(net.rank())];
        torch::Tensor sum = own.tensor.clone();
        net.sparse_all_reduce(sum, own.indices);
        EXPECT_TRUE(torch::allclose(sum.to(torch::kDouble), expected, 1e-5, 1e-6))
            << world << " of " << world_size << ", " << shape.elements;
        EXPECT_TRUE(identical_on_all(net, sum)) << world << " of " << world_size;
      });
    }
  }
}

// So a convergence run is the same training run as a live one, with the same bytes on each edge.
TEST(EntrySum, InOneProcessHasTheNetworksBitsAndBytes) {
  for (const Shape& shape : shapes) {
    std::mutex mutex;
    std::map<std::string, torch::Tensor> sums;
    std::map<std::string, std::map<int, std::vector<EdgeBytes>>> edges;
    in_both_worlds(8, [&](Collective& net, const std::string& world) {
      Entries own(net.rank(), shape.elements, shape.distance);
      const std::vector<EdgeBytes> passed = net.sparse_all_reduce(own.tensor, own.indices);
      const std::lock_guard lock(mutex);
      edges[world][net.rank()] = passed;
      if (net.rank() == 0) sums[world] = own.tensor;
    });
    EXPECT_TRUE(std::ranges::equal(bits_of(sums["network"]), bits_of(sums["process"])));
    EXPECT_EQ(edges["network"], edges["process"]) << shape.elements << " elements";
    EXPECT_EQ(edges["process"][0].size(), 3U) << "two children and a parent";
  }
}

// An edge carries entries with the same index once: here every worker has the same ten.
TEST(EntrySum, CarriesAnEntryOnceWhoeverHasIt) {
  in_both_worlds(8, [](Collective& net, const char* world) {
    torch::Tensor tensor = torch::zeros({1000});
    std::vector<std::uint32_t> indices(10);
    std::iota(indices.begin(), indices.end(), 500U);
    tensor.narrow(0, 500, 10).fill_(1);
    for (const EdgeBytes& edge : net.sparse_all_reduce(tensor, indices)) {
      EXPECT_EQ(edge.sent, 4 + 10 * (2 + 4)) << world;
      EXPECT_EQ(edge.received, edge.sent) << world;
    }
    EXPECT_EQ(tensor.sum().item<float>(), 80);
  });
}

TEST(EntrySum, CanBePassedOnceMoreWithoutTheEntries) {
  in_both_worlds(8, [](Collective& net, const char* /*world*/) {
    for (int i = 0; i < 3; ++i) {
      Entries own(net.rank(), 300'007, 5);
      const SparseAllReduceCall call{.elements = 300'007,
                                     .edges = net.sparse_all_reduce(own.tensor, own.indices)};
      net.replay_sparse_all_reduce(call);
      torch::Tensor one = torch::ones({1});
      net.all_reduce(one, Reduction::sum);  // afterwards nothing of it may be in flight
      EXPECT_EQ(one.item<float>(), 8);
    }
  });
}

TEST(EntrySum, NeedsATree) {
  run_in_process(2, [](Collective& net) {
    EXPECT_FALSE(net.has_sparse_all_reduce());
    EXPECT_THROW(net.sparse_all_reduce(torch::zeros({4}), {}), CollectiveError);
  });
}

TEST(EntrySum, RefusesPlacesThatAreNone) {
  const auto refusal = [](const std::vector<std::uint32_t>& indices) {
    std::string message;
    run_over_network("island", 1, [&](Collective& net) {
      try {
        net.sparse_all_reduce(torch::zeros({4}), indices);
      } catch (const CollectiveError& error) {
        message = error.what();
      }
    });
    return message;
  };
  for (const std::vector<std::uint32_t>& indices : {std::vector<std::uint32_t>{4}, {2, 1}, {1, 1}})
    EXPECT_THAT(refusal(indices), HasSubstr("indices must ascend within the tensor"));
}

}  // namespace
}  // namespace thinpipe::trainer
