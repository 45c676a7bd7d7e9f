// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "trainer/base/tensor_span.hh"
#include "trainer/collectives/backends/in_process.hh"
#include "trainer/commands/conformance/session.hh"
#include "trainer/synchronisers/transforms/low_rank.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::exact_mean;
using trainer::testing::integer_gradient;
using trainer::testing::make_world;
using trainer::testing::real_gradient;
using trainer::testing::Session;
using trainer::testing::World;

// Compresses every matrix, whatever it saves.
Json powersgd_of_rank(int rank) {
  return {{"name", "powersgd"}, {"rank", rank}, {"min_compression", 0}};
}

constexpr RandomStream zero_column_stream{.seed = 3, .step = 4, .bucket = 5};

torch::Tensor normal_matrix(std::int64_t rows, std::int64_t columns, std::uint32_t step = 1) {
  torch::Tensor out = torch::empty({rows, columns});
  fill_normal({.seed = 7, .step = step}, floats(out));
  return out;
}

TEST(LowRank, NormalNumbersAreNormal) {
  const torch::Tensor numbers = normal_matrix(1000, 201).to(torch::kDouble);  // an odd number of them
  EXPECT_NEAR(numbers.mean().item<double>(), 0, 0.01);
  EXPECT_NEAR(numbers.square().mean().item<double>(), 1, 0.015);
  EXPECT_NEAR(numbers.pow(4).mean().item<double>(), 3, 0.1);
  EXPECT_TRUE(normal_matrix(3, 5).view(-1).equal(normal_matrix(4, 4).view(-1).narrow(0, 0, 15)));
}

// In double precision: float32 products differ between CPUs by as much as the tolerance for the columns.
torch::Tensor inner_products(const torch::Tensor& columns) {
  const torch::Tensor exact = columns.to(torch::kDouble);
  return exact.t().mm(exact);
}

TEST(LowRank, OrthonormalColumnsSpanWhatTheyDid) {
  const torch::Tensor given = normal_matrix(50, 6).mul(1e-3);
  torch::Tensor columns = given.clone();
  orthonormalise(columns);
  EXPECT_TRUE(inner_products(columns).allclose(torch::eye(6, torch::kDouble), 0, 1e-6));
  EXPECT_TRUE(columns.mm(columns.t().mm(given)).allclose(given, 1e-4, 1e-7));
}

TEST(LowRank, DependentColumnsBecomeZeroAndTheirRoundingOrthogonal) {
  torch::Tensor columns = normal_matrix(50, 5);
  columns.select(1, 1).copy_(columns.select(1, 0) * 2);
  columns.select(1, 2).zero_();
  // Only float32 rounding distinguishes it from a combination of two columns.
  columns.select(1, 4).copy_(columns.select(1, 0) + columns.select(1, 3));
  orthonormalise(columns);
  const torch::Tensor expected = torch::diag(torch::tensor({1.0, 0.0, 0.0, 1.0, 1.0}, torch::kDouble));
  EXPECT_TRUE(inner_products(columns).allclose(expected, 0, 1e-6));
}

TEST(LowRank, WhatIsNotFiniteIsNotTakenForDependent) {
  for (const float poison : {INFINITY, std::nanf("")}) {
    torch::Tensor columns = normal_matrix(5, 2);
    columns[1][0] = poison;
    orthonormalise(columns);
    EXPECT_TRUE(columns.select(0, 1).isnan().all().item<bool>());
  }
}

TEST(LowRank, OnlyZeroColumnsAreDrawn) {
  torch::Tensor all = torch::zeros({4, 3});
  fill_zero_columns(all, zero_column_stream);
  EXPECT_TRUE(all.ne(0).all().item<bool>());
  torch::Tensor one = torch::ones({4, 3});
  one.select(1, 1).zero_();
  fill_zero_columns(one, zero_column_stream);
  EXPECT_TRUE(one.select(1, 1).equal(all.select(1, 1)));
  EXPECT_TRUE(one.select(1, 0).eq(1).all().item<bool>());
}

TEST(PowerSgd, OfFullRankGivesTheMean) {
  const World world = make_world(60, false);  // two matrices of 5×6
  run_in_process(3, [&](Collective& network) {
    Session session(powersgd_of_rank(5), world, network);
    for (int step = 1; step <= 3; ++step) {
      const torch::Tensor out = session.step(integer_gradient(world, network.rank(), step), step);
      // The residual returns the rounding error.
      EXPECT_TRUE(out.to(torch::kDouble).allclose(exact_mean(world, 3, step), 0, 1e-3)) << step;
    }
  });
}

torch::Tensor flat_matrices(const torch::Tensor& first, const torch::Tensor& second) {
  return torch::cat({first.reshape(-1), second.reshape(-1)});
}

TEST(PowerSgd, GivesMatricesOfItsRankAsTheyAre) {
  const World world = make_world(600, false);  // two matrices of 15×20
  const torch::Tensor gradient = flat_matrices(normal_matrix(15, 2, 1).mm(normal_matrix(2, 20, 2)),
                                               normal_matrix(15, 1, 3).mm(normal_matrix(1, 20, 4)));
  run_in_process(1, [&](Collective& network) {
    Session session(powersgd_of_rank(2), world, network);
    for (int step = 1; step <= 3; ++step) {
      EXPECT_TRUE(session.step(gradient, step).allclose(gradient, 1e-3, 1e-4)) << step;
    }
  });
}

TEST(PowerSgd, IsLinearOverWorkers) {
  const World world = make_world(600, false);
  constexpr int workers = 4;
  std::vector<torch::Tensor> alone;
  run_in_process(1, [&](Collective& network) {
    Session session(powersgd_of_rank(2), world, network);
    for (int step = 1; step <= 4; ++step) {
      alone.push_back(session.step(exact_mean(world, workers, step).to(torch::kFloat), step));
    }
  });
  run_in_process(workers, [&](Collective& network) {
    Session session(powersgd_of_rank(2), world, network);
    for (int step = 1; step <= 4; ++step) {
      const torch::Tensor out = session.step(integer_gradient(world, network.rank(), step), step);
      EXPECT_TRUE(out.allclose(alone[static_cast<std::size_t>(step) - 1], 1e-3, 1e-3)) << step;
    }
  });
}

// Given the same matrix in each step and no residual, Q converges to its largest singular vectors.
TEST(PowerSgd, WarmStartFindsTheBestApproximation) {
  constexpr std::int64_t rows = 15;
  constexpr std::int64_t columns = 20;
  constexpr int rank = 3;
  const World world = make_world(2 * rows * columns, false);
  const torch::Tensor scales = torch::pow(0.7, torch::arange(rows, torch::kFloat));
  const torch::Tensor matrix = normal_matrix(rows, rows, 1).mul(scales).mm(normal_matrix(rows, columns, 2));
  const torch::Tensor singular = torch::linalg_svdvals(matrix);
  const double best = singular.narrow(0, rank, rows - rank).square().sum().sqrt().item<double>();
  run_in_process(1, [&](Collective& network) {
    Session session(powersgd_of_rank(rank), world, network);
    std::vector<double> errors;
    for (int step = 1; step <= 30; ++step) {
      Bucket correction = world.bucket;
      correction.gradient = torch::zeros({world.bucket.size});
      session.method().add_residual(correction);
      const torch::Tensor wanted = flat_matrices(matrix, matrix);
      const torch::Tensor out = session.step(wanted - correction.gradient, step);
      errors.push_back((out - wanted).narrow(0, 0, rows * columns).norm().item<double>());
    }
    EXPECT_GT(errors.front(), 1.02 * best) << "the test's matrix is too easy";
    EXPECT_LT(errors[1], errors[0]);
    EXPECT_NEAR(errors.back() / best, 1, 0.01);
  });
}

TEST(PowerSgd, RecoversFromAGradientOfZero) {
  const World world = make_world(600, false);
  const torch::Tensor matrix = normal_matrix(15, 1, 1).mm(normal_matrix(1, 20, 2));
  const torch::Tensor gradient = flat_matrices(matrix, matrix);
  run_in_process(2, [&](Collective& network) {
    Session session(powersgd_of_rank(2), world, network);
    session.step(gradient, 1);
    EXPECT_TRUE(session.step(torch::zeros({600}), 2).abs().max().item<float>() < 1e-4F);
    EXPECT_TRUE(session.step(gradient, 3).allclose(gradient, 1e-3, 1e-3));
    Session fresh(powersgd_of_rank(2), world, network);
    EXPECT_TRUE(fresh.step(torch::zeros({600}), 1).eq(0).all().item<bool>());
    EXPECT_TRUE(fresh.step(gradient, 2).allclose(gradient, 1e-3, 1e-4));
  });
}

// PyTorch's rule: (A + B)·q·min_compression < A·B.
TEST(PowerSgd, CompressesWhatPaysAndLeavesVectorsDense) {
  const World world = make_world(128, false);  // two matrices of 8×8
  const auto payload_bytes = [&](int rank) {
    const auto method = SynchroniserRegistry::instance().make(
        {{"name", "powersgd"}, {"rank", rank}}, {},
        {.parameters = world.parameters, .kept = world.kept, .weights = world.weights});
    EXPECT_TRUE(method->leaves_dense({.name = "bias", .size = 8, .dimensions = 1}));
    EXPECT_FALSE(method->leaves_dense(world.parameters[0]));
    return method->traffic(world.bucket, 2).payload_bytes;
  };
  EXPECT_EQ(payload_bytes(1), 4 * 2 * (8 + 8));  // 32 < 64
  EXPECT_EQ(payload_bytes(2), 4 * 128);          // 64 is not
}

TEST(PowerSgd, TravelsDenseUntilItStarts) {
  const World world = make_world(128, false);
  run_in_process(2, [&](Collective& network) {
    Session session({{"name", "powersgd"}, {"rank", 1}, {"start_step", 2}}, world, network);
    for (int step = 1; step <= 3; ++step) {
      const double payload_bytes = session.method().traffic(world.bucket, 2).payload_bytes;
      const torch::Tensor out = session.step(integer_gradient(world, network.rank(), step), step);
      const bool is_mean = out.to(torch::kDouble).equal(exact_mean(world, 2, step));
      EXPECT_EQ(is_mean, step <= 2) << step;
      EXPECT_EQ(payload_bytes, step <= 2 ? 512 : 128) << step;
    }
  });
}

// Pruned entries of the product are cleared, and the residual compensates only for the other entries.
TEST(PowerSgd, HasNoResidualOfPrunedEntries) {
  const World world = make_world(600, true);
  run_in_process(2, [&](Collective& network) {
    Session session(powersgd_of_rank(1), world, network);
    for (int step = 1; step <= 3; ++step) session.step(real_gradient(world, network.rank(), step), step);
    Bucket residual = world.bucket;
    residual.gradient = torch::zeros({600});
    session.method().add_residual(residual);
    const torch::Tensor first = residual.gradient.narrow(0, 0, 300);
    EXPECT_TRUE(first.masked_select(world.kept[0].logical_not()).eq(0).all().item<bool>());
    EXPECT_TRUE(first.masked_select(world.kept[0]).ne(0).any().item<bool>());
  });
}

}  // namespace
}  // namespace thinpipe::trainer
