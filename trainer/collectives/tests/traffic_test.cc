// SPDX-License-Identifier: Apache-2.0
// Compares the bytes that network backends send, counted by the kernel on the process's TCP connections, with
// those that each worker's meter reports.
#include <bit>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trainer/collectives/tests/sent.hh"

namespace thinpipe::trainer {
namespace {

using testing::measure_sent;
using testing::Sent;

// Gloo adds 144 bytes to a message: a header, and a notification from each end. A message is at most 1 MiB,
// and an all-reduce has at least 4 N (N-1) messages. Streams add nothing. The measurement's own barriers
// count too.
void expect_said(const Sent& sent, int world_size, const char* what) {
  const double overhead = static_cast<double>(sent.counted) / sent.said - 1;
  ::testing::Test::RecordProperty(fmt::format("{}_of_{}_overhead", what, world_size),
                                  fmt::format("{:.6f}", overhead));
  fmt::print("{} of {} workers: metered {:.0f} bytes, TCP {} bytes, overhead {:.4f} %\n", what, world_size,
             sent.said, sent.counted, 100 * overhead);
  EXPECT_GE(static_cast<double>(sent.counted), sent.said) << what << " of " << world_size;
  EXPECT_LE(overhead, 0.002) << what << " of " << world_size;
}

constexpr std::int64_t elements = (1 << 20) + 7;

struct TrafficWorld {
  std::string backend;
  int size;
};

// All workers together send the same number of bytes around a ring and along a tree.
class TrafficOf : public ::testing::TestWithParam<TrafficWorld> {
 protected:
  static Sent measure(const std::function<void(Collective&)>& operation) {
    return measure_sent(GetParam().backend, GetParam().size, operation);
  }
};

TEST_P(TrafficOf, AllReduceSendsWhatItSays) {
  const int n = GetParam().size;
  for (const torch::ScalarType type : {torch::kFloat32, torch::kFloat16}) {
    const torch::Tensor tensor = torch::zeros(elements, type);
    const Sent sent = measure([&](Collective& net) { net.all_reduce(tensor.clone(), Reduction::sum); });
    EXPECT_NEAR(sent.said, 2.0 * (n - 1) * static_cast<double>(tensor.nbytes()), 1);
    expect_said(sent, n, type == torch::kFloat32 ? "all_reduce_float32" : "all_reduce_float16");
  }
}

TEST_P(TrafficOf, AllGatherSendsWhatItSays) {
  const int n = GetParam().size;
  std::vector<std::int64_t> counts(n);
  for (int r = 0; r < n; ++r) counts[r] = r % 3 == 1 ? 0 : elements * (r + 1) / n;
  expect_said(measure([&](Collective& net) { net.all_gather_v(torch::zeros(counts[net.rank()]), counts); }),
              n, "all_gather_v");
}

TEST_P(TrafficOf, AllToAllSendsWhatIsForOthers) {
  const int n = GetParam().size;
  const std::vector<std::int64_t> counts(n, elements / n);
  const Sent sent =
      measure([&](Collective& net) { net.all_to_all_v(torch::zeros(elements / n * n), counts, counts); });
  EXPECT_EQ(sent.said, static_cast<double>(4 * (elements / n) * n * (n - 1)));
  expect_said(sent, n, "all_to_all_v");
}

TEST_P(TrafficOf, BroadcastSendsWhatItSays) {
  const int n = GetParam().size;
  const Sent sent = measure([&](Collective& net) { net.broadcast(torch::zeros(elements), n - 1); });
  EXPECT_EQ(sent.said, static_cast<double>(4 * elements * (n - 1)));
  expect_said(sent, n, "broadcast");
}

// Along a tree, as few bits as hold the sums; elsewhere, one byte per code.
TEST_P(TrafficOf, SumsOfCodesSendWhatTheySay) {
  const int n = GetParam().size;
  for (const int largest : {1, 7}) {
    const torch::Tensor codes = torch::zeros(4 * elements + 3, torch::kInt8);
    expect_said(measure([&](Collective& net) { net.all_reduce_quantised(codes.clone(), largest, {}); }), n,
                "all_reduce_codes");
  }
}

// The number of workers on the two sides of an edge determines the bits of the sums that it carries. Here are
// the edges of the tree of eight (world.hh).
TEST(IslandTraffic, SumsOfCodesTakeTheBitsThatTheyNeed) {
  constexpr int n = 8;
  const torch::Tensor codes = torch::zeros(8 * elements, torch::kInt8);
  const Sent sent =
      measure_sent("island", n, [&](Collective& net) { net.all_reduce_quantised(codes.clone(), 1, {}); });
  constexpr int leaves = 4;         // 1 and 7 workers
  constexpr int between = 2;        // 3 and 5 workers, over the bottlenecks
  constexpr int in_the_middle = 1;  // 4 and 4 workers
  constexpr int bits = leaves * (2 + 4) + between * (3 + 4) + in_the_middle * (4 + 4);
  EXPECT_DOUBLE_EQ(sent.said, static_cast<double>(bits * elements));
  expect_said(sent, n, "all_reduce_codes");
}

TEST(IslandTraffic, SumsOfEntriesSendWhatTheySay) {
  constexpr int n = 8;
  const auto sparse_all_reduce = [](Collective& net) {
    torch::Tensor tensor = torch::zeros({elements});
    std::vector<std::uint32_t> indices;
    for (std::uint32_t i = 0; i < elements; i += static_cast<std::uint32_t>(net.rank()) + 3)
      indices.push_back(i);
    net.sparse_all_reduce(tensor, indices);
  };
  expect_said(measure_sent("island", n, sparse_all_reduce), n, "sparse_all_reduce");
}

// Less than 4 KiB is sent whole, in log2(N) hops.
TEST(RingTraffic, SwappingVectorsSendsWhatItSays) {
  for (const int n : {2, 4, 8}) {
    const torch::Tensor tensor = torch::ones(1023);
    const Sent sent = measure_sent("ring", n, [&](Collective& net) {
      for (int call = 0; call < 200; ++call) net.all_reduce(tensor.clone(), Reduction::sum);
    });
    EXPECT_EQ(sent.said, 200.0 * n * std::bit_width(static_cast<unsigned>(n - 1)) * 4 * 1023);
    expect_said(sent, n, "all_reduce_swapped");
  }
}

// Hops dominate the cost of small messages: it takes fewer than the 4 N (N-1) messages of a ring.
TEST(GlooTraffic, ASmallAllReduceTakesFewMessages) {
  constexpr int n = 8;
  constexpr int calls = 20;  // enough that the messages of the measurement's barriers are negligible
  constexpr std::int64_t message_overhead_bytes = 144;
  const torch::Tensor tensor = torch::ones(1024);
  const Sent sent = measure_sent("gloo", n, [&](Collective& net) {
    for (int call = 0; call < calls; ++call) {
      const torch::Tensor sum = tensor.clone();
      net.all_reduce(sum, Reduction::sum);
      EXPECT_TRUE(sum.eq(n).all().item<bool>());
    }
  });
  const double messages = (static_cast<double>(sent.counted) - sent.said) / message_overhead_bytes / calls;
  EXPECT_GE(messages, 0.9 * 2 * 3 * n);  // log2(8) hops to sum and as many to distribute
  EXPECT_LE(messages, n * (n - 1));
}

std::vector<TrafficWorld> traffic_worlds() {
  std::vector<TrafficWorld> out;
  for (const char* backend : {"gloo", "ring", "island"}) {
    for (const int size : {2, 3, 5, 8}) out.push_back({backend, size});
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Worlds, TrafficOf, ::testing::ValuesIn(traffic_worlds()), [](const auto& world) {
  return fmt::format("{}_of_{}", world.param.backend, world.param.size);
});

}  // namespace
}  // namespace thinpipe::trainer
