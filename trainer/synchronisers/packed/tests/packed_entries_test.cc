// SPDX-License-Identifier: Apache-2.0
// Entries kept as ranges or as indices: the same results, whichever is chosen.
#include "trainer/synchronisers/packed/packed_entries.hh"

#include <cmath>

#include <gtest/gtest.h>

#include "trainer/base/tensor_span.hh"

namespace thinpipe::trainer {
namespace {

struct Pattern {
  std::string name;
  torch::Tensor kept;
};

torch::Tensor rows(std::int64_t count, std::int64_t size, double density) {
  return torch::rand({count}).lt(density).view({-1, 1}).expand({count, size}).flatten();
}

std::vector<Pattern> patterns() {
  torch::manual_seed(1);
  std::vector<Pattern> out = {{"empty", torch::zeros({0}, torch::kBool)},
                              {"none", torch::zeros({50}, torch::kBool)},
                              {"all", torch::ones({50}, torch::kBool)},
                              {"one", torch::arange(50).eq(49)},
                              {"single entries", torch::rand({1000}).lt(0.5)},
                              {"a layer of rows and one of single entries",
                               torch::cat({rows(40, 100, 0.5), torch::rand({30}).lt(0.5)})}};
  for (const std::int64_t size : {1, 15, 16, 17, 27, 576}) {
    out.push_back({"rows of " + std::to_string(size), rows(30, size, 0.4)});
  }
  for (const double density : {0.05, 0.9}) out.push_back({"rows", rows(100, 64, density)});
  return out;
}

TEST(PackedEntries, GatherAndScatterAsByIndices) {
  for (const auto& [name, kept] : patterns()) {
    SCOPED_TRACE(name);
    const PackedEntries entries(kept);
    const torch::Tensor indices = kept.nonzero().flatten();
    const std::vector<std::uint32_t> found = entries.indices();
    EXPECT_TRUE(
        torch::tensor(std::vector<std::int64_t>(found.begin(), found.end()), torch::kLong).equal(indices));
    EXPECT_EQ(entries.size(), kept.numel());
    ASSERT_EQ(entries.packed_size(), indices.numel());

    const torch::Tensor dense = torch::randn({kept.numel()});
    torch::Tensor packed = torch::full({indices.numel() + 1}, 7.0F);  // with room for a flag
    const std::int64_t outside = entries.gather(floats(dense), 3, floats(packed));
    EXPECT_EQ(outside, kept.numel() - indices.numel());
    EXPECT_TRUE(packed.narrow(0, 0, indices.numel()).equal(dense.index_select(0, indices) / 3));
    EXPECT_EQ(packed[-1].item<float>(), 7);

    torch::Tensor scattered = torch::full({kept.numel()}, 9.0F);
    entries.scatter(floats(packed), floats(scattered));
    EXPECT_TRUE(scattered.equal(torch::where(kept, dense / 3, torch::zeros({}))));
  }
}

TEST(PackedEntries, CountsOnlyNonZeroEntriesOutside) {
  for (const std::int64_t size : {2, 64}) {
    const torch::Tensor kept = torch::arange(4 * size).div(size, "floor").remainder(2).eq(1);
    const PackedEntries entries(kept);
    torch::Tensor dense = kept.to(torch::kFloat32);
    torch::Tensor packed = torch::empty({entries.packed_size()});
    EXPECT_EQ(entries.gather(floats(dense), 1, floats(packed)), 0);
    dense[0] = std::nanf("");
    EXPECT_EQ(entries.gather(floats(dense), 1, floats(packed)), 1);
    dense[2 * size] = -1e-40F;  // divided, it could be zero
    EXPECT_EQ(entries.gather(floats(dense), 1, floats(packed)), 2);
    dense[size] = std::nanf("");
    EXPECT_EQ(entries.gather(floats(dense), 1, floats(packed)), 2) << "inside";
  }
}

TEST(PackedEntries, CountsThoseBeforeAnyPosition) {
  for (const auto& [name, kept] : patterns()) {
    SCOPED_TRACE(name);
    const PackedEntries entries(kept);
    for (std::int64_t end = 0; end <= kept.numel(); end += end < 60 ? 1 : 37) {
      EXPECT_EQ(entries.packed_before(end), kept.narrow(0, 0, end).sum().item<std::int64_t>()) << end;
    }
  }
}

}  // namespace
}  // namespace thinpipe::trainer
