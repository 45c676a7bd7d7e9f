// The contract that every backend must meet.
#include "trainer/collectives/collective.hh"

#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trainer/collectives/tests/world.hh"

namespace thinpipe::trainer {
namespace {

using testing::identical_on_all;
using testing::run_world;

constexpr torch::ScalarType reducible[] = {torch::kFloat32, torch::kFloat16, torch::kBFloat16,
                                           torch::kInt8,    torch::kInt32,   torch::kInt64};
constexpr torch::ScalarType floating[] = {torch::kFloat32, torch::kFloat16, torch::kBFloat16};
constexpr std::int64_t small_sizes[] = {0, 1, 2, 3, 7, 8, 9, 255, 256, 257, 1023, 1025};
constexpr std::int64_t large_size = (1 << 18) + 7;  // hundreds of chunks

struct World {
  std::string backend;
  int size;
};

class CollectiveTest : public ::testing::TestWithParam<World> {
 protected:
  static void run(const std::function<void(Collective&)>& worker) {
    run_world(GetParam().backend, GetParam().size, worker);
  }
  static std::vector<std::int64_t> sizes() {
    std::vector<std::int64_t> out(std::begin(small_sizes), std::end(small_sizes));
    if (GetParam().size == 2 || GetParam().size == 3) out.push_back(large_size);
    return out;
  }
};

// Caches inputs and expected results; the first worker of the first case that needs one computes it. Without
// the cache most of this program's time is spent on memory that AddressSanitizer returns to the kernel and
// takes again. The tensors must not be changed.
torch::Tensor once(const std::string& key, const std::function<torch::Tensor()>& make) {
  static std::recursive_mutex mutex;
  static std::map<std::string, torch::Tensor> made;
  const std::lock_guard lock(mutex);
  torch::Tensor& tensor = made[key];
  if (!tensor.defined()) tensor = make();
  return tensor;
}

// Element i of rank r is a small integer, |value| <= 8. Every dtype then holds every partial sum exactly, and
// the result does not depend on the order of summation.
torch::Tensor input(int rank, std::int64_t elements, torch::ScalarType type) {
  return once(fmt::format("input {} {} {}", rank, elements, c10::toString(type)), [&] {
    const torch::Tensor i = torch::arange(elements, torch::kInt64);
    return (torch::remainder(i * (rank + 1) + rank, 17) - 8).to(type);
  });
}

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

std::string name(const char* operation, std::int64_t elements, torch::ScalarType type) {
  return fmt::format("{} of {} x {}", operation, elements, c10::toString(type));
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

// Worker r's contributions for several patterns of counts, one of them empty.
std::vector<std::vector<std::int64_t>> count_patterns(int world_size, std::int64_t elements) {
  std::vector<std::int64_t> equal(world_size, elements), only_last(world_size, 0), uneven(world_size);
  only_last.back() = elements;
  for (int r = 0; r < world_size; ++r) uneven[r] = r % 2 == 0 ? 0 : elements * r / world_size + 1;
  return {equal, only_last, uneven};
}

TEST_P(CollectiveTest, AllGatherConcatenatesInRankOrder) {
  run([](Collective& net) {
    for (const torch::ScalarType type : {torch::kUInt8, torch::kFloat16, torch::kFloat32, torch::kInt64}) {
      for (const std::int64_t elements : sizes()) {
        for (const std::vector<std::int64_t>& counts : count_patterns(net.world_size(), elements)) {
          std::vector<torch::Tensor> inputs;
          for (int r = 0; r < net.world_size(); ++r) inputs.push_back(input(r, counts[r], type) + 8);
          const torch::Tensor gathered = net.all_gather_v(inputs[net.rank()], counts);
          EXPECT_TRUE(torch::equal(gathered, torch::cat(inputs))) << name("all_gather_v", elements, type);
          EXPECT_EQ(gathered.scalar_type(), type);
        }
      }
    }
  });
}

// Worker r has (r + 2w) % 4 times `elements` for worker w, which is zero for some workers and sometimes for
// itself.
std::vector<std::int64_t> parts_of(int rank, int world_size, std::int64_t elements) {
  std::vector<std::int64_t> counts;
  for (int w = 0; w < world_size; ++w) counts.push_back((rank + 2 * w) % 4 * elements);
  return counts;
}

TEST_P(CollectiveTest, AllToAllGivesEveryoneItsPart) {
  run([](Collective& net) {
    for (const torch::ScalarType type : {torch::kUInt8, torch::kFloat32, torch::kInt64}) {
      for (const std::int64_t elements : {0, 1, 257, 5000}) {
        const auto value = [&](int from, int to) { return torch::full({1}, 10 * from + to, type); };
        std::vector<torch::Tensor> sent;
        std::vector<torch::Tensor> expected;
        std::vector<std::int64_t> receive_counts;
        const auto send_counts = parts_of(net.rank(), net.world_size(), elements);
        for (int w = 0; w < net.world_size(); ++w) {
          sent.push_back(value(net.rank(), w).repeat({send_counts[w]}));
          receive_counts.push_back(parts_of(w, net.world_size(), elements)[net.rank()]);
          expected.push_back(value(w, net.rank()).repeat({receive_counts.back()}));
        }
        const torch::Tensor received = net.all_to_all_v(torch::cat(sent), send_counts, receive_counts);
        EXPECT_TRUE(torch::equal(received, torch::cat(expected))) << name("all_to_all_v", elements, type);
        EXPECT_EQ(received.scalar_type(), type);
      }
    }
  });
}

TEST_P(CollectiveTest, BroadcastGivesEveryoneTheRootsTensor) {
  run([](Collective& net) {
    for (int root = 0; root < net.world_size(); ++root) {
      for (const std::int64_t elements : sizes()) {
        torch::Tensor tensor = input(net.rank(), elements, torch::kFloat32).clone();
        net.broadcast(tensor, root);
        EXPECT_TRUE(torch::equal(tensor, input(root, elements, torch::kFloat32)))
            << elements << " from " << root;
      }
    }
  });
}

// Every worker sends its rank to all others, in several rounds. A worker that has received from all starts
// the next round at once.
TEST_P(CollectiveTest, PointToPointDeliversEverythingAndKeepsApart) {
  run([](Collective& net) {
    for (int round = 0; round < 5; ++round) {
      const auto point_to_point = net.open_point_to_point(3000);
      for (int to = 0; to < net.world_size(); ++to) {
        if (to == net.rank()) continue;
        for (int copy = 0; copy < 3; ++copy) {
          point_to_point->send(to, torch::full({3000}, 20 * round + net.rank(), torch::kByte));
        }
      }
      std::vector<int> received(static_cast<std::size_t>(net.world_size()));
      for (int i = 0; i < 3 * (net.world_size() - 1); ++i) {
        const ReceivedMessage message = point_to_point->receive();
        EXPECT_TRUE(message.message.eq(20 * round + message.from).all().item<bool>());
        ++received.at(static_cast<std::size_t>(message.from));
      }
      for (int from = 0; from < net.world_size(); ++from) {
        EXPECT_EQ(received[static_cast<std::size_t>(from)], from == net.rank() ? 0 : 3);
      }
      point_to_point->close();
    }
    net.barrier();
  });
}

TEST_P(CollectiveTest, BarrierWaitsForEveryone) {
  std::atomic<int> arrived = 0;
  run([&](Collective& net) {
    for (int round = 1; round <= 20; ++round) {
      ++arrived;
      net.barrier();
      EXPECT_GE(arrived, round * net.world_size());
      net.barrier();
    }
  });
}

// Mixed calls directly after each other: the messages of one must not be taken for another's.
TEST_P(CollectiveTest, CallsInSuccessionDoNotMix) {
  run([](Collective& net) {
    const int n = net.world_size();
    for (int step = 0; step < 50; ++step) {
      torch::Tensor sum = torch::full({11}, net.rank() + step, torch::kInt32);
      torch::Tensor sent = torch::full({5}, net.rank() * 100 + step, torch::kInt64);
      net.all_reduce(sum, Reduction::sum);
      const std::vector<std::int64_t> counts(n, 1);
      const torch::Tensor gathered =
          net.all_gather_v(torch::full({1}, net.rank() + step, torch::kInt8), counts);
      net.broadcast(sent, step % n);
      EXPECT_TRUE((sum == n * (n - 1) / 2 + n * step).all().item<bool>());
      EXPECT_TRUE((gathered == torch::arange(step, step + n)).all().item<bool>());
      EXPECT_TRUE((sent == step % n * 100 + step).all().item<bool>());
    }
  });
}

TEST_P(CollectiveTest, RefusesTensorsItCannotHandOver) {
  run([](Collective& net) {
    const std::vector<std::int64_t> counts(net.world_size(), 2);
    const torch::Tensor strided = torch::zeros({4, 2}).select(1, 0);
    EXPECT_THROW(net.all_reduce(strided, Reduction::sum), CollectiveError);
  });
  run([](Collective& net) { EXPECT_THROW(net.broadcast(torch::zeros({2, 2}), 0), CollectiveError); });
}

TEST_P(CollectiveTest, RefusesCountsAndRootsThatCannotBe) {
  run([](Collective& net) {
    const std::vector<std::int64_t> too_many(net.world_size() + 1, 2);
    EXPECT_THROW(net.all_gather_v(torch::zeros(2), too_many), CollectiveError);
  });
  run([](Collective& net) {
    const std::vector<std::int64_t> wrong(net.world_size(), 3);
    EXPECT_THROW(net.all_gather_v(torch::zeros(2), wrong), CollectiveError);
  });
  run([](Collective& net) {
    const std::vector<std::int64_t> counts(net.world_size(), 2);
    EXPECT_THROW(net.all_to_all_v(torch::zeros(2 * net.world_size() + 1), counts, counts), CollectiveError);
  });
  run([](Collective& net) {
    std::vector<std::int64_t> sent(net.world_size(), 1), expected = sent;
    ++expected[net.rank()];
    EXPECT_THROW(net.all_to_all_v(torch::zeros(net.world_size()), sent, expected), CollectiveError);
  });
  run([](Collective& net) {
    EXPECT_THROW(net.broadcast(torch::zeros(2), net.world_size()), CollectiveError);
  });
}

std::vector<World> worlds() {
  std::vector<World> out;
  for (const char* backend :
       {"in_process", "gloo", "ring", "island", "nccl_stand_in", "nccl_tree_stand_in"}) {
    for (const int size : {1, 2, 3, 5, 8}) out.push_back({backend, size});
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Worlds, CollectiveTest, ::testing::ValuesIn(worlds()), [](const auto& world) {
  return fmt::format("{}_of_{}", world.param.backend, world.param.size);
});

}  // namespace
}  // namespace thinpipe::trainer
