// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/commands/conformance/session.hh"
#include "trainer/synchronisers/quantised/thc_exchange.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::make_world;
using trainer::testing::real_gradient;
using trainer::testing::Session;
using trainer::testing::World;
using ThcLevels = std::vector<std::uint8_t>;

// The tables of the paper's published code.
TEST(ThcTable, IsThePublishedOne) {
  EXPECT_EQ(ThcTable(4, 30, 1.0 / 32).levels(),
            (ThcLevels{0, 3, 5, 7, 9, 11, 13, 14, 16, 17, 19, 21, 23, 25, 27, 30}));
  EXPECT_EQ(ThcTable(4, 30, 1.0 / 64).levels(),
            (ThcLevels{0, 3, 5, 7, 9, 11, 13, 14, 16, 17, 19, 21, 23, 25, 27, 30}));
  EXPECT_EQ(ThcTable(4, 30, 1.0 / 128).levels(),
            (ThcLevels{0, 4, 6, 8, 10, 12, 13, 14, 16, 17, 18, 20, 22, 24, 26, 30}));
  EXPECT_EQ(ThcTable(2, 4, 1.0 / 32).levels(), (ThcLevels{0, 1, 3, 4}));
  EXPECT_EQ(ThcTable(3, 15, 1.0 / 32).levels(), (ThcLevels{0, 3, 5, 7, 8, 10, 12, 15}));
  EXPECT_NEAR(ThcTable(4, 30, 1.0 / 32).bound(), 2.1538746940614564, 1e-12);
}

TEST(ThcTable, WithoutRoomToChooseEveryPlaceIsALevel) {
  const ThcTable table(8, 255, 1.0 / 32);
  for (std::size_t code = 0; code < 256; ++code) EXPECT_EQ(table.levels()[code], code);
}

TEST(ThcTable, DrawsOneOfTheTwoLevelsAround) {
  const ThcTable table(4, 30, 1.0 / 32);  // 3 and 5 are the levels of codes 1 and 2
  EXPECT_EQ(table.draw(3, 0), 1);
  EXPECT_EQ(table.draw(4.5F, 0.74F), 2);
  EXPECT_EQ(table.draw(4.5F, 0.76F), 1);
  EXPECT_EQ(table.draw(0, 0), 0);
  EXPECT_EQ(table.draw(30, 0), 15);
  EXPECT_EQ(table.draw(28.5F, 0.49F), 15);
  EXPECT_EQ(table.draw(28.5F, 0.51F), 14);
}

// Steps of 0.5 around 0, which is grid point 15: 1 is point 17, and 100 is outside the grid. Two workers with
// the levels 16 and 30 have a mean of 8 steps above 0.
TEST(ThcTable, CodesAGridAroundZero) {
  const ThcTable table(4, 30, 1.0 / 32);
  ThcLevels codes(5);
  table.encode(std::vector<float>{1, -1, 100, -100, std::nanf("")}, 0.5F, std::vector<float>(5), codes);
  EXPECT_EQ(codes, (ThcLevels{9, 6, 15, 0, 0}));
  std::vector<float> values(3);
  table.decode(std::vector<std::uint16_t>{17, 13, 30}, 1, 0.5F, values);
  EXPECT_EQ(values, (std::vector<float>{1, -1, 7.5F}));
  table.decode(std::vector<std::uint16_t>{16 + 30, 30, 0}, 2, 0.5F, values);
  EXPECT_EQ(values, (std::vector<float>{4, 0, -7.5F}));
}

// Worker r has codes r, 15, 0, 1, 2: levels T[r], 30, 0, 3, 5.
TEST(ThcExchange, SumsLevels) {
  const ThcTable table(4, 30, 1.0 / 32);
  for (const auto& make : {make_sharded_thc_exchange, make_all_reduce_thc_exchange}) {
    run_in_process(3, [&](Collective& network) {
      const ThcLevels codes = {static_cast<std::uint8_t>(network.rank()), 15, 0, 1, 2};
      EXPECT_EQ(make(table)->sum(codes, network), (std::vector<std::uint16_t>{0 + 3 + 5, 90, 0, 9, 15}));
    });
  }
}

TEST(ThcExchange, SumsInSixteenBitsWhatEightCannotHold) {
  const ThcTable table(4, 200, 1.0 / 32);
  run_in_process(3, [&](Collective& network) {
    const auto exchange = make_sharded_thc_exchange(table);
    EXPECT_EQ(exchange->sum(ThcLevels{15, 0, 15, 15}, network),
              (std::vector<std::uint16_t>{600, 0, 600, 600}));
    // Shards of one byte, with two codes each; a sum of two bytes per code.
    EXPECT_EQ(exchange->traffic(4, 3).payload_bytes, 3 * 1 + 2 * 2);
  });
}

TEST(Thc, TellsHowManyWorkersItsIntegersHold) {
  const auto most = [](const Json& options, const NetworkShape& network) {
    Json method = {{"name", "thc"}, {"granularity", 60}};
    method.update(options);
    SynchroniserContext context;
    context.network = network;
    return SynchroniserRegistry::instance().make(method, {"test", ""}, context)->max_workers();
  };
  EXPECT_EQ(most({{"exchange", "all_reduce"}}, {}), 127 / 30);
  EXPECT_EQ(most({{"exchange", "sharded"}}, {}), 65535 / 60);
  EXPECT_EQ(most({{"exchange", "auto"}}, {.workers = 4, .sums_along_tree = true}), 127 / 30);
  EXPECT_EQ(most({{"exchange", "auto"}}, {.workers = 5, .sums_along_tree = true}), 65535 / 60);
  EXPECT_EQ(most({{"exchange", "auto"}}, {.workers = 4}), 65535 / 60);
}

TEST(Thc, BothExchangesGiveTheSame) {
  for (const std::int64_t n : {1, 5, 100, 1025}) {
    const World world = make_world(n, true);
    run_in_process(3, [&](Collective& network) {
      Session first({{"name", "thc"}, {"block_size", 64}, {"exchange", "sharded"}}, world, network);
      Session second({{"name", "thc"}, {"block_size", 64}, {"exchange", "all_reduce"}}, world, network);
      for (int step = 1; step <= 3; ++step) {
        const torch::Tensor gradient = real_gradient(world, network.rank(), step);
        EXPECT_TRUE(first.step(gradient, step).equal(second.step(gradient, step))) << n;
      }
    });
  }
}

// Errors for a normal distribution, relative to the squared norm: 0.01307 from drawing and 0.00727 from
// clipping.
TEST(Thc, ErrsOnAGaussianAsItsTableSays) {
  const World world = make_world(8192 * 16, false);
  torch::manual_seed(1);
  const torch::Tensor gaussian = torch::randn({world.bucket.size});
  run_in_process(1, [&](Collective& network) {
    Session session({{"name", "thc"}}, world, network);
    const torch::Tensor error = session.step(gaussian, 1) - gaussian;
    EXPECT_NEAR((error.square().sum() / gaussian.square().sum()).item<double>(), 0.0203, 0.05 * 0.0203);
  });
}

// The rotation makes entries alike, so other distributions err as much.
TEST(Thc, ErrsAsMuchWhereFewEntriesAreLarge) {
  const World world = make_world(8192 * 16, false);
  torch::manual_seed(1);
  const torch::Tensor heavy = torch::randn({world.bucket.size}).pow(3);
  run_in_process(1, [&](Collective& network) {
    Session session({{"name", "thc"}}, world, network);
    const torch::Tensor error = session.step(heavy, 1) - heavy;
    EXPECT_NEAR((error.square().sum() / heavy.square().sum()).item<double>(), 0.0203, 0.05 * 0.0203);
  });
}

// Worker 1's block of zeros has worker 0's norm; a block that is zero on both stays zero.
TEST(Thc, ABlockThatIsZeroEverywhereStaysZero) {
  const World world = make_world(128, false);
  run_in_process(2, [&](Collective& network) {
    Session session({{"name", "thc"}, {"block_size", 64}}, world, network);
    torch::Tensor gradient = torch::zeros({128});
    if (network.rank() == 0) gradient.narrow(0, 0, 64).fill_(1);
    const torch::Tensor out = session.step(gradient, 1);
    EXPECT_TRUE(out.narrow(0, 64, 64).eq(0).all().item<bool>());
    EXPECT_FALSE(out.narrow(0, 0, 64).eq(0).all().item<bool>());
  });
}

std::string thc_refusal(const Json& options) {
  Json method = options;
  method["name"] = "thc";
  try {
    SynchroniserRegistry::instance().make(method, {"x.json", "/synchroniser"}, {});
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Thc, RefusesTablesAndBlocksThatCannotBe) {
  using ::testing::HasSubstr;
  EXPECT_THAT(thc_refusal({{"bits", 3}}), HasSubstr("/synchroniser/bits: must be 2, 4 or 8, but is 3"));
  EXPECT_THAT(thc_refusal({{"granularity", 14}}),
              HasSubstr("/synchroniser/granularity: must be at least 2^bits - 1"));
  EXPECT_THAT(thc_refusal({{"block_size", 48}}),
              HasSubstr("/synchroniser/block_size: must be a power of two"));
  EXPECT_EQ(thc_refusal({{"granularity", 15}}), "accepted");
}

}  // namespace
}  // namespace thinpipe::trainer
