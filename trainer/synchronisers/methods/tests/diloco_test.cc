#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/commands/conformance/session.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;
using trainer::testing::make_world;
using trainer::testing::Session;
using trainer::testing::World;

TEST(Diloco, StepsWithNesterovsMomentum) {
  const World world = make_world(2, false);
  run_in_process(2, [&](Collective& network) {
    Session session({{"name", "diloco"}, {"learning_rate", 0.5}, {"momentum", 0.5}}, world, network);
    const auto own = static_cast<float>(4 + 8 * network.rank());  // mean 8
    // u = 8, and 0.5·(8 + 0.5·8); then u = 0.5·8 + 8 = 12, and 0.5·(8 + 0.5·12).
    EXPECT_TRUE(session.step(torch::tensor({own, -own}), 1).equal(torch::tensor({6.0F, -6.0F})));
    EXPECT_TRUE(session.step(torch::tensor({own, -own}), 2).equal(torch::tensor({7.0F, -7.0F})));
  });
}

TEST(Diloco, TakesAnyCompressorAndNothingElse) {
  const auto make = [](const Json& inner) {
    SynchroniserRegistry::instance().make({{"name", "diloco"}, {"inner", inner}}, {"test", ""}, {});
  };
  EXPECT_NO_THROW(make({{"name", "scaled_sign"}}));
  EXPECT_THAT(
      [&] {
        make({{"name", "topk"}, {"ratio", 0.1}});
      },
      ::testing::ThrowsMessage<InputError>(HasSubstr("\"topk\" cannot be put inside diloco")));
}

}  // namespace
}  // namespace thinpipe::trainer
