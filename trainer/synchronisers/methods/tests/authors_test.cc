// SPDX-License-Identifier: Apache-2.0
// Compares methods with the numbers that their authors' published code returns for the same gradients.
// docs/results/validation.md has the origin of the numbers, and differences between the codes.

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/support/json_object.hh"
#include "common/support/tests/paths.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/collectives/backends/in_process.hh"
#include "trainer/commands/conformance/session.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::Session;
using trainer::testing::World;

// A case of a file in authors/.
struct PublishedCase {
  std::string name;
  Json content;
};

std::vector<PublishedCase> published_cases() {
  std::vector<PublishedCase> cases;
  for (const auto& file :
       std::filesystem::directory_iterator(source_path("trainer/synchronisers/methods/tests/authors"))) {
    const Json published = parse_json_file(file.path().string());
    for (const Json& content : published.at("cases")) {
      std::string name = file.path().stem().string() + "_" + content.at("title").get<std::string>();
      std::ranges::replace(name, ' ', '_');
      cases.push_back({name, content});
    }
  }
  std::ranges::sort(cases, {}, &PublishedCase::name);
  return cases;
}

// Returns (2u - 1)·2^-⌊4v⌋ with uniform numbers u of this step and rank, and v that are always the same: entries
// have different magnitudes, and those of the workers are large in the same places. All of it is exact, so the
// authors' code had the same bits. The gradient is halved `halvings` times.
torch::Tensor gradient_of(std::int64_t n, std::uint32_t step, std::uint32_t rank, int halvings = 0) {
  std::vector<float> values(static_cast<std::size_t>(n));
  std::vector<float> magnitudes(values.size());
  fill_uniform({.seed = 1, .step = step, .rank = rank}, values);
  fill_uniform({.seed = 1}, magnitudes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::ldexp(2 * values[i] - 1, -static_cast<int>(4 * magnitudes[i]) - halvings);
  }
  return torch::tensor(values);
}

World world_of(const Json& published) {
  World world;
  for (const auto& [name, shape] : published.at("shapes").items()) {
    const auto sides = shape.get<std::vector<std::int64_t>>();
    const bool is_matrix = sides.size() > 1;
    const std::int64_t rows = is_matrix ? sides[0] : 1;
    const std::int64_t size = is_matrix ? sides[0] * sides[1] : sides[0];
    world.bucket.slices.push_back(
        {.parameter = world.parameters.size(), .offset = world.bucket.size, .size = size});
    world.parameters.push_back(
        {.name = name, .size = size, .dimensions = std::ssize(sides), .rows = rows, .shape = sides});
    world.bucket.size += size;
  }
  world.kept.resize(world.parameters.size());
  for (const Slice& slice : world.bucket.slices) {
    world.weights.push_back(gradient_of(world.bucket.size, 0, 0).narrow(0, slice.offset, slice.size).clone());
  }
  world.weight_decay = published.value("weight_decay", 0.0);
  return world;
}

// Returns float32 numbers from a list, or from the indices and values of those that are not zero.
torch::Tensor numbers_of(const Json& published) {
  if (published.is_array()) return torch::tensor(published.get<std::vector<float>>());
  torch::Tensor numbers = torch::zeros({published.at("n").get<std::int64_t>()});
  const auto values = published.at("values").get<std::vector<float>>();
  const auto indices = published.at("indices").get<std::vector<std::size_t>>();
  for (std::size_t i = 0; i < values.size(); ++i) floats(numbers)[indices[i]] = values[i];
  return numbers;
}

class AuthorsCode : public ::testing::TestWithParam<PublishedCase> {
 protected:
  const Json& published() const { return GetParam().content; }

  // Bounds differences by the case's tolerance, as a share of the largest number.
  void expect_close(const torch::Tensor& ours, const torch::Tensor& theirs, const std::string& which) const {
    ASSERT_EQ(ours.numel(), theirs.numel()) << which;
    const double bound = published().at("tolerance").get<double>() * theirs.abs().max().item<double>();
    EXPECT_LE((ours.flatten() - theirs).abs().max().item<double>(), bound) << which;
  }
};

TEST_P(AuthorsCode, ReturnsTheSameNumbers) {
  const World world = world_of(published());
  const auto workers = published().at("workers").get<int>();
  const auto steps = published().at("steps").get<std::uint32_t>();
  const auto halvings = published().value("halvings", std::vector<int>(steps, 0));
  const float factor = published().value("sums", false) ? static_cast<float>(workers) : 1.0F;
  const Json results = published().value("results", Json::array());
  const Json states = published().value("states", Json::array());
  const Json weights = published().value("weights", Json::object());
  ASSERT_FALSE(results.empty() && states.empty() && weights.empty()) << "nothing to compare";
  run_in_process(workers, [&](Collective& network) {
    const auto rank = static_cast<std::uint32_t>(network.rank());
    Session session(published().at("method"), world, network);
    session.set_learning_rate(published().value("learning_rate", 0.1));
    for (std::uint32_t step = 1; step <= steps; ++step) {
      const torch::Tensor out =
          session.step(gradient_of(world.bucket.size, step, rank, halvings[step - 1]), step);
      if (results.empty()) continue;
      expect_close(out * factor, numbers_of(results.at(step - 1)), fmt::format("result of step {}", step));
    }
    TensorMap state;
    session.method().save(state, "");
    if (!states.empty()) {
      for (const auto& [name, numbers] : states.at(rank).items())
        expect_close(state.at(name), numbers_of(numbers), fmt::format("{} of worker {}", name, rank));
    }
    for (std::size_t p = 0; p < world.parameters.size(); ++p) {
      const std::string& name = world.parameters[p].name;
      if (weights.contains(name)) {
        expect_close(session.weights()[p], numbers_of(weights.at(name)), "weights " + name);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Published, AuthorsCode, ::testing::ValuesIn(published_cases()),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace thinpipe::trainer
