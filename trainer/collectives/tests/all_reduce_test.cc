// SPDX-License-Identifier: Apache-2.0
// The contract of all-reduces that every backend must meet.
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trainer/collectives/collective.hh"
#include "trainer/collectives/tests/every_backend.hh"

namespace thinpipe::trainer {
namespace {

using testing::identical_on_all;

constexpr torch::ScalarType reducible[] = {torch::kFloat32, torch::kFloat16, torch::kBFloat16,
                                           torch::kInt8,    torch::kInt32,   torch::kInt64};
constexpr torch::ScalarType floating[] = {torch::kFloat32, torch::kFloat16, torch::kBFloat16};

// The expected result for the inputs of `world_size` workers.
torch::Tensor reduced(Reduction reduction, int world_size, std::int64_t elements, torch::ScalarType type) {
  const bool sum = reduction == Reduction::sum;
  const std::string key =
      fmt::format("{} {} {} {}", sum ? "sum" : "max", world_size, elements, c10::toString(type));
  return once(key, [&] {
    std::vector<torch::Tensor> inputs;
    for (int r = 0; r < world_size; ++r) inputs.push_back(input(r, elements, torch::kInt64));
    const torch::Tensor all = torch::stack(inputs);
    return (sum ? all.sum(0) : all.amax(0)).to(type);
  });
}

TEST_P(CollectiveTest, AllReduceSums) {
  run([](Collective& net) {
    for (const torch::ScalarType type : reducible) {
      for (const std::int64_t elements : sizes()) {
        torch::Tensor tensor = input(net.rank(), elements, type).clone();
        net.all_reduce(tensor, Reduction::sum);
        const torch::Tensor expected = reduced(Reduction::sum, net.world_size(), elements, type);
        EXPECT_TRUE(torch::equal(tensor, expected)) << name("sum", elements, type);
      }
    }
  });
}

TEST_P(CollectiveTest, AllReduceTakesTheMaximum) {
  run([](Collective& net) {
    for (const torch::ScalarType type : reducible) {
      for (const std::int64_t elements : sizes()) {
        torch::Tensor tensor = input(net.rank(), elements, type).clone();
        net.all_reduce(tensor, Reduction::max);
        const torch::Tensor expected = reduced(Reduction::max, net.world_size(), elements, type);
        EXPECT_TRUE(torch::equal(tensor, expected)) << name("max", elements, type);
      }
    }
  });
}

// They include the extremes on all workers at once, whose sums need all bits.
torch::Tensor codes_of(int rank, int largest, std::int64_t elements) {
  return once(fmt::format("codes {} {} {}", rank, largest, elements), [&] {
    torch::Tensor codes = torch::empty(elements, torch::kInt8);
    auto* const out = codes.data_ptr<std::int8_t>();
    for (std::int64_t i = 0; i < elements; ++i) {
      const std::int64_t some = (i * (3 * rank + 5) + i / 11) % (2 * largest + 1) - largest;
      out[i] = static_cast<std::int8_t>(i % 5 == 0 ? largest : i % 5 == 1 ? -largest : some);
    }
    return codes;
  });
}

TEST_P(CollectiveTest, SumsOfCodesAreExact) {
  run([](Collective& net) {
    const int n = net.world_size();
    for (const int largest : {1, 2, 127 / n}) {
      for (const std::int64_t elements : {0, 1, 7, 8, 9, 257, 65535, 200'003}) {
        const torch::Tensor expected = once(fmt::format("sum of codes {} {} {}", n, largest, elements), [&] {
          torch::Tensor sum = torch::zeros(elements, torch::kInt8);
          for (int r = 0; r < n; ++r) sum += codes_of(r, largest, elements);
          return sum;
        });
        torch::Tensor codes = codes_of(net.rank(), largest, elements).clone();
        net.all_reduce_quantised(codes, largest, {});
        EXPECT_TRUE(torch::equal(codes, expected)) << name("sum of codes", elements, torch::kInt8) << largest;
      }
    }
  });
}

// More than one block of the tree, ending within a block.
TEST_P(CollectiveTest, MakesAndTakesCodesInPieces) {
  run([](Collective& net) {
    for (const std::int64_t elements : {0, 1, 64, 65'536, 65'537, 200'003}) {
      const auto code_of = [](std::size_t i, int rank) {
        return static_cast<int>((i * static_cast<std::size_t>(2 * rank + 1) + i / 7) % 3) - 1;
      };
      const auto sum_at = [&](std::size_t i) {
        int sum = 0;
        for (int r = 0; r < net.world_size(); ++r) sum += code_of(i, r);
        return sum;
      };
      torch::Tensor tensor = torch::full(elements, 100, torch::kInt8);  // not a code until it is made
      auto* const codes = tensor.data_ptr<std::int8_t>();
      std::size_t produced = 0;
      std::size_t consumed = 0;
      std::size_t wrong = 0;
      const auto produce = [&](std::size_t begin, std::size_t end) {
        EXPECT_EQ(begin, produced);
        EXPECT_EQ(begin % CodeChunks::granule, 0U);
        EXPECT_LT(begin, end);
        produced = end;
        for (std::size_t i = begin; i < end; ++i) codes[i] = static_cast<std::int8_t>(code_of(i, net.rank()));
      };
      const auto consume = [&](std::size_t begin, std::size_t end) {
        EXPECT_EQ(begin, consumed);
        EXPECT_LE(end, produced);
        EXPECT_LT(begin, end);
        consumed = end;
        for (std::size_t i = begin; i < end; ++i) wrong += codes[i] == sum_at(i) ? 0 : 1;
      };
      net.all_reduce_quantised(tensor, 1, {.produce = produce, .consume = consume});
      EXPECT_EQ(produced, static_cast<std::size_t>(elements));
      EXPECT_EQ(consumed, static_cast<std::size_t>(elements));
      EXPECT_EQ(wrong, 0U) << elements;
    }
  });
}

TEST_P(CollectiveTest, RefusesCodesWhoseSumsWouldNotFit) {
  run([](Collective& net) {
    EXPECT_THROW(net.all_reduce_quantised(torch::zeros(3, torch::kInt32), 1, {}), CollectiveError);
    EXPECT_THROW(net.all_reduce_quantised(torch::zeros(3, torch::kInt8), 0, {}), CollectiveError);
    EXPECT_THROW(net.all_reduce_quantised(torch::zeros(3, torch::kInt8), 127 / net.world_size() + 1, {}),
                 CollectiveError);
  });
}

// Inputs whose sum depends on the order of summation.
TEST_P(CollectiveTest, RoundedSumsAreIdenticalOnAllWorkers) {
  run([](Collective& net) {
    for (const torch::ScalarType type : floating) {
      for (const std::int64_t elements : sizes()) {
        const auto sines_of = [&](int rank) {
          return once(fmt::format("sines {} {} {}", rank, elements, c10::toString(type)), [&] {
            const torch::Tensor i = torch::arange(elements, torch::kFloat32);
            return torch::sin(i * (rank + 1) + 0.1 * rank).to(type);
          });
        };
        const std::string key =
            fmt::format("sum of sines {} {} {}", net.world_size(), elements, c10::toString(type));
        const torch::Tensor exact = once(key, [&] {
          torch::Tensor sum = torch::zeros(elements, torch::kFloat64);
          for (int r = 0; r < net.world_size(); ++r) sum += sines_of(r);
          return sum;
        });
        torch::Tensor tensor = sines_of(net.rank()).clone();
        net.all_reduce(tensor, Reduction::sum);
        EXPECT_TRUE(identical_on_all(net, tensor)) << name("sum", elements, type);
        // Each of N-1 additions of numbers below N errs by at most half a unit in the last place.
        const double unit = type == torch::kFloat32 ? 0x1p-24 : type == torch::kFloat16 ? 0x1p-11 : 0x1p-8;
        const double bound = unit * net.world_size() * (net.world_size() - 1);
        if (elements > 0) {
          EXPECT_LE((tensor.to(torch::kFloat64) - exact).abs().max().item<double>(), bound)
              << name("sum", elements, type);
        }
      }
    }
  });
}

TEST_P(CollectiveTest, NotANumberPropagatesUnderSum) {
  run([](Collective& net) {
    for (const torch::ScalarType type : floating) {
      for (int poisoned = 0; poisoned < net.world_size(); ++poisoned) {
        torch::Tensor tensor = torch::ones(37, type);
        if (net.rank() == poisoned) tensor[36 - poisoned] = std::numeric_limits<float>::quiet_NaN();
        net.all_reduce(tensor, Reduction::sum);
        const torch::Tensor nan = torch::isnan(tensor);
        EXPECT_EQ(nan.sum().item<int>(), 1) << "poisoned by rank " << poisoned;
        EXPECT_TRUE(nan[36 - poisoned].item<bool>()) << "poisoned by rank " << poisoned;
      }
    }
  });
}

TEST_P(CollectiveTest, InfinitiesOfOppositeSignSumToNotANumber) {
  run([](Collective& net) {
    if (net.world_size() == 1) return;
    torch::Tensor tensor = torch::zeros(9, torch::kFloat16);
    if (net.rank() == 0) tensor.fill_(std::numeric_limits<float>::infinity());
    if (net.rank() == 1) tensor.fill_(-std::numeric_limits<float>::infinity());
    net.all_reduce(tensor, Reduction::sum);
    EXPECT_TRUE(torch::isnan(tensor).all().item<bool>());
  });
}

TEST_P(CollectiveTest, AllReduceRefusesOtherTypes) {
  run([](Collective& net) {
    EXPECT_THROW(net.all_reduce(torch::ones(3, torch::kFloat64), Reduction::sum), Error);
  });
}

}  // namespace
}  // namespace thinpipe::trainer
