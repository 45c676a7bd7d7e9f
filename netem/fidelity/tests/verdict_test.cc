// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "netem/fidelity/fidelity.hh"

namespace thinpipe::netem {
namespace {

Check rate_of(const std::string& direction, const Json& measured, bool ok = true) {
  return {.name = "rate", .asked = 1, .measured = measured, .ok = ok, .rate_of = direction};
}

TEST(VerdictTest, OneFailedCheckDegrades) {
  const Check good{.name = "g", .asked = 1, .measured = 1};
  const Check bad{.name = "b", .asked = 1, .measured = 2, .ok = false, .note = "why"};
  EXPECT_EQ(judge({good}).verdict, "faithful");
  EXPECT_EQ(judge({good, bad, rate_of("a->b", nullptr)}).verdict, "degraded");
  EXPECT_EQ(judge({rate_of("a->b", nullptr), rate_of("a->b", 0.5, false)}).verdict, "degraded");
}

TEST(VerdictTest, ADirectionWithoutAnyMeasurementOfItsRateIsNotJudged) {
  const Check shaper{.name = "shaper", .asked = 1, .measured = 1};
  const Fidelity fidelity =
      judge({rate_of("a->b", nullptr), rate_of("b->a", nullptr), rate_of("a->b", 0.99), shaper});
  EXPECT_EQ(fidelity.verdict, "not judged");
  EXPECT_EQ(fidelity.directions, 2U);
  EXPECT_EQ(fidelity.judged_directions, 1U);
  EXPECT_EQ(judge({rate_of("a->b", nullptr), rate_of("a->b", 0.99)}).verdict, "faithful");
}

TEST(VerdictTest, IsWrittenWithNotesOnlyWhereThereAreSome) {
  const Check good{.name = "g", .asked = 1, .measured = 1};
  Check slow = rate_of("a->b", 0.5, false);
  slow.note = "why";
  EXPECT_EQ(to_json(judge({good, slow})),
            Json::parse(R"({"verdict": "degraded", "directions": 1, "judged_directions": 1, "checks": [
              {"name": "g", "specified": 1, "measured": 1, "ok": true},
              {"name": "rate", "specified": 1, "measured": 0.5, "ok": false, "note": "why"}]})"));
}

}  // namespace
}  // namespace thinpipe::netem
