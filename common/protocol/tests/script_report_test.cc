// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/script_report.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal(std::string_view text) {
  try {
    parse_script_report(text);
  } catch (const InvalidEvent& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ScriptReport, HasTheMembersThatTheScriptReported) {
  const ScriptReport report = parse_script_report(
      R"({"iteration": 10, "test_accuracy": 0.5, "train_loss": 1.25, "epoch": 2, "payload_bytes": 400, "lr": 0.1})");
  EXPECT_EQ(report, (ScriptReport{.iteration = 10,
                                  .epoch = 2,
                                  .train_loss = 1.25,
                                  .test_accuracy = 0.5,
                                  .payload_bytes = 400,
                                  .is_evaluation = true,
                                  .others = {{"lr", 0.1}}}));
}

TEST(ScriptReport, OfALossThatIsNotFiniteIsStillAnEvaluation) {
  const ScriptReport report = parse_script_report(R"({"iteration": 10, "test_loss": null})");
  EXPECT_TRUE(report.is_evaluation);
  EXPECT_EQ(report.test_loss, std::nullopt);
  EXPECT_FALSE(parse_script_report(R"({"iteration": 10, "train_loss": null})").is_evaluation);
}

TEST(ScriptReport, ThatIsNoneIsRefusedWithItsText) {
  EXPECT_THAT(refusal("hello"), AllOf(HasSubstr("hello"), HasSubstr("not a JSON object")));
  EXPECT_THAT(refusal("[1]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal("\x01\xff"), HasSubstr("\\u0001\\xff"));
  EXPECT_THAT(refusal(std::string(100000, '[')), HasSubstr("not a JSON object"));
}

TEST(ScriptReport, ThatIsImpossibleIsRefusedWithItsMember) {
  EXPECT_THAT(refusal(R"({"iteration": 1, "test_accuracy": 93.2})"), HasSubstr("\"test_accuracy\" must be"));
  EXPECT_THAT(refusal(R"({"iteration": -1})"), HasSubstr("\"iteration\" must be"));
  EXPECT_THAT(refusal(R"({"iteration": 1.5})"), HasSubstr("\"iteration\" must be"));
  EXPECT_THAT(refusal(R"({"iteration": "1"})"), HasSubstr("\"iteration\" must be"));
  EXPECT_THAT(refusal(R"({"payload_bytes": -4})"), HasSubstr("\"payload_bytes\" must be"));
  EXPECT_THAT(refusal(R"({"iteration": 1, "train_time_s": -4})"), HasSubstr("\"train_time_s\" must be"));
  EXPECT_THAT(refusal(R"({"test_accuracy": 0.5})"), HasSubstr("without the \"iteration\""));
}

}  // namespace
}  // namespace thinpipe
