// What the network backends really send, counted by the kernel at the process's TCP connections, against
// ring_formula.hh.
#include <atomic>
#include <cstddef>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "trainer/collectives/ring_formula.hh"
#include "trainer/collectives/tests/world.hh"

namespace thinpipe::trainer {
namespace {

using testing::run_world;

// Bytes that this process's TCP connections have sent, without retransmissions and below-TCP headers.
std::int64_t tcp_sent_bytes() {
  std::int64_t total = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    tcp_info info{};
    socklen_t length = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) continue;
    if (length < offsetof(tcp_info, tcpi_bytes_retrans) + sizeof info.tcpi_bytes_retrans) {
      throw Error("read TCP_INFO: this kernel does not count sent bytes; Linux 4.19 does");
    }
    total += static_cast<std::int64_t>(info.tcpi_bytes_sent - info.tcpi_bytes_retrans);
  }
  return total;
}

// What all workers together send while each runs `operation` once.
std::int64_t measure(const std::string& backend, int world_size,
                     const std::function<void(Collective&)>& operation) {
  std::atomic<std::int64_t> before = 0;
  std::atomic<std::int64_t> after = 0;
  run_world(backend, world_size, [&](Collective& net) {
    net.barrier();
    if (net.rank() == 0) before = tcp_sent_bytes();
    net.barrier();
    operation(net);
    net.barrier();
    if (net.rank() == 0) after = tcp_sent_bytes();
    net.barrier();
  });
  return after - before;
}

// Gloo adds 144 bytes to a message: a header, and a notification from each end. A message is at most 1 MiB,
// and an all-reduce is of at least 4 N (N-1) messages. Streams add nothing. The barriers of the measurement
// count as well.
void expect_formula(std::int64_t measured, double formula, int world_size, const char* what) {
  const double overhead = static_cast<double>(measured) / formula - 1;
  ::testing::Test::RecordProperty(fmt::format("{}_of_{}_overhead", what, world_size),
                                  fmt::format("{:.6f}", overhead));
  fmt::print("{} of {} workers: formula {:.0f} bytes, TCP {} bytes, overhead {:.4f} %\n", what, world_size,
             formula, measured, 100 * overhead);
  EXPECT_GE(measured, formula) << what << " of " << world_size;
  EXPECT_LE(overhead, 0.002) << what << " of " << world_size;
}

constexpr std::int64_t elements = (1 << 20) + 7;

struct TrafficWorld {
  std::string backend;
  int size;
};

// All workers together send the same, around a ring and along a tree.
class TrafficOf : public ::testing::TestWithParam<TrafficWorld> {
 protected:
  static std::int64_t measure(const std::function<void(Collective&)>& operation) {
    return trainer::measure(GetParam().backend, GetParam().size, operation);
  }
};

TEST_P(TrafficOf, AllReduceSendsItsFormula) {
  const int n = GetParam().size;
  for (const torch::ScalarType type : {torch::kFloat32, torch::kFloat16}) {
    const torch::Tensor tensor = torch::zeros(elements, type);
    const std::int64_t measured =
        measure([&](Collective& net) { net.all_reduce(tensor.clone(), Reduction::sum); });
    const double formula = n * ring_all_reduce_sent_bytes(static_cast<double>(tensor.nbytes()), n);
    expect_formula(measured, formula, n,
                   type == torch::kFloat32 ? "all_reduce_float32" : "all_reduce_float16");
  }
}

TEST_P(TrafficOf, AllGatherSendsItsFormula) {
  const int n = GetParam().size;
  std::vector<std::int64_t> counts(n);
  for (int r = 0; r < n; ++r) counts[r] = r % 3 == 1 ? 0 : elements * (r + 1) / n;
  const std::int64_t measured =
      measure([&](Collective& net) { net.all_gather_v(torch::zeros(counts[net.rank()]), counts); });
  std::int64_t formula = 0;
  for (int r = 0; r < n; ++r) formula += 4 * ring_all_gather_v_sent_bytes(counts, r);
  expect_formula(measured, static_cast<double>(formula), n, "all_gather_v");
}

TEST_P(TrafficOf, AllToAllSendsWhatIsForOthers) {
  const int n = GetParam().size;
  const std::vector<std::int64_t> counts(n, elements / n);
  const std::int64_t measured =
      measure([&](Collective& net) { net.all_to_all_v(torch::zeros(elements / n * n), counts, counts); });
  const auto formula = static_cast<double>(4 * (elements / n) * n * (n - 1));
  expect_formula(measured, formula, n, "all_to_all_v");
}

TEST_P(TrafficOf, BroadcastSendsItsFormula) {
  const int n = GetParam().size;
  const std::int64_t measured =
      measure([&](Collective& net) { net.broadcast(torch::zeros(elements), n - 1); });
  std::int64_t formula = 0;
  for (int r = 0; r < n; ++r) formula += binomial_broadcast_sent_bytes(4 * elements, r, n - 1, n);
  expect_formula(measured, static_cast<double>(formula), n, "broadcast");
}

// Each edge of the tree of eight (world.hh) has so many workers on its two sides, whose sums go in so many
// bits.
TEST(IslandTraffic, SumsOfCodesTakeTheBitsThatTheyNeed) {
  constexpr int n = 8;
  const torch::Tensor codes = torch::zeros(8 * elements, torch::kInt8);
  const std::int64_t measured =
      measure("island", n, [&](Collective& net) { net.all_reduce_codes(codes.clone(), 1, {}); });
  constexpr int leaves = 4;         // 1 and 7
  constexpr int between = 2;        // 3 and 5, over the bottlenecks
  constexpr int in_the_middle = 1;  // 4 and 4
  constexpr int bits = leaves * (2 + 4) + between * (3 + 4) + in_the_middle * (4 + 4);
  expect_formula(measured, static_cast<double>(bits * elements), n, "all_reduce_codes");
}

// What the workers say that they sent is what they did.
TEST(IslandTraffic, SumsOfEntriesSendWhatTheySay) {
  constexpr int n = 8;
  std::atomic<std::int64_t> said = 0;
  const auto sum_entries = [&said](Collective& net) {
    torch::Tensor tensor = torch::zeros({elements});
    std::vector<std::uint32_t> places;
    for (std::uint32_t i = 0; i < elements; i += static_cast<std::uint32_t>(net.rank()) + 3)
      places.push_back(i);
    for (const EdgeBytes& edge : net.sum_entries(tensor, places)) said += edge.sent;
  };
  const std::int64_t measured = measure("island", n, sum_entries);
  expect_formula(measured, static_cast<double>(said), n, "sum_entries");
}

// Small messages are bound by hops: fewer of them than the 4 N (N-1) of a ring.
TEST(GlooTraffic, ASmallAllReduceTakesFewMessages) {
  constexpr int n = 8;
  constexpr int calls = 20;  // the messages of the measurement's barriers become few beside theirs
  constexpr std::int64_t message_overhead_bytes = 144;
  const torch::Tensor tensor = torch::ones(1024);
  const std::int64_t measured = measure("gloo", n, [&](Collective& net) {
    for (int call = 0; call < calls; ++call) {
      const torch::Tensor sum = tensor.clone();
      net.all_reduce(sum, Reduction::sum);
      EXPECT_TRUE(sum.eq(n).all().item<bool>());
    }
  });
  const double formula = calls * n * ring_all_reduce_sent_bytes(static_cast<double>(tensor.nbytes()), n);
  const double messages = (static_cast<double>(measured) - formula) / message_overhead_bytes / calls;
  EXPECT_GE(messages, 0.9 * 2 * 3 * n);  // log2(8) hops to sum, as many to share
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
