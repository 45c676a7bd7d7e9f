// SPDX-License-Identifier: Apache-2.0
// Methods over real connections: their sent bytes by the kernel's count, and sums of codes in many pieces.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trainer/collectives/tests/sent.hh"
#include "trainer/commands/conformance/session.hh"
#include "trainer/synchronisers/tests/every_method.hh"

namespace thinpipe::trainer {
namespace {

using testing::make_world;
using testing::real_gradient;
using testing::Session;
using testing::World;

// Several blocks of every kind, and an odd remainder.
constexpr std::int64_t elements = 200003;

struct SendingCase {
  Json method;
  std::string backend;
  int workers;
};

std::vector<SendingCase> sending_cases() {
  std::vector<SendingCase> out;
  std::vector<Json> methods = testing::every_method();
  for (const char* name : {"terngrad", "signsgd", "thc"}) {
    const int granularity = 15;  // so that eight workers' levels have sums within an int8
    Json& method = methods.emplace_back(Json{{"name", name}, {"exchange", "all_reduce"}});
    if (method["name"] == "thc") method["granularity"] = granularity;
  }
  methods.push_back({{"name", "pactrain"}, {"values", "ternary"}});
  for (const Json& method : methods) {
    out.push_back({method, "gloo", 3});
    out.push_back({method, "ring", 3});
    out.push_back({method, "island", 8});
  }
  return out;
}

class Sending : public ::testing::TestWithParam<SendingCase> {};

// Gloo adds 144 bytes to each message, which matters most for small point-to-point messages.
TEST_P(Sending, IsWhatTheKernelCounts) {
  const auto& [method, backend, workers] = GetParam();
  const World world = make_world(elements, true);
  const testing::Sent sent = testing::measure_sent(backend, workers, [&](Collective& network) {
    Session session(method, world, network);
    session.step(real_gradient(world, network.rank(), 1), 1);
  });
  EXPECT_GE(static_cast<double>(sent.counted), sent.said);
  EXPECT_LE(static_cast<double>(sent.counted), 1.25 * sent.said + 2000.0 * workers * workers);
}

std::string name_of_sending(const ::testing::TestParamInfo<SendingCase>& tested) {
  const auto& [method, backend, workers] = tested.param;
  const std::string exchange = method.value("exchange", method.value("values", ""));
  return fmt::format("{}{}{}_{}_{}", method["name"].get<std::string>(), exchange.empty() ? "" : "_", exchange,
                     backend, workers);
}

INSTANTIATE_TEST_SUITE_P(All, Sending, ::testing::ValuesIn(sending_cases()), name_of_sending);

// Pieces after the first are coded and summed while others are in flight.
TEST(CodesInPieces, AreThoseOfOnePieceBitForBit) {
  const World world = make_world(elements, true);
  for (const Json& method : {Json{{"name", "pactrain"}, {"values", "ternary"}},
                             Json{{"name", "pactrain"}, {"values", "ternary"}, {"error_feedback", true}},
                             Json{{"name", "terngrad"}, {"exchange", "all_reduce"}},
                             Json{{"name", "signsgd"}, {"exchange", "all_reduce"}},
                             Json{{"name", "thc"}, {"exchange", "all_reduce"}, {"granularity", 15}}}) {
    const auto results = [&](const std::string& backend) {
      std::vector<torch::Tensor> out;
      testing::run_world(backend, 8, [&](Collective& network) {
        Session session(method, world, network);
        for (int step = 1; step <= 2; ++step) {
          const torch::Tensor result = session.step(real_gradient(world, network.rank(), step), step);
          EXPECT_TRUE(testing::identical_on_all(network, result)) << method;
          if (network.rank() == 0) out.push_back(result);
        }
      });
      return out;
    };
    const auto along_tree = results("island");
    const auto in_process = results("in_process");
    ASSERT_EQ(along_tree.size(), 2);
    for (std::size_t step = 0; step < 2; ++step) {
      EXPECT_TRUE(along_tree[step].equal(in_process[step])) << method << ", step " << step + 1;
    }
  }
}

}  // namespace
}  // namespace thinpipe::trainer
