// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/conformance/check_method.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;

Json answer_for(const Json& workers) {
  return check_method({{"synchroniser", {{"name", "spardl"}, {"ratio", 0.1}, {"teams", 2}}},
                       {"workers", workers},
                       {"backends", {"in_process"}}},
                      {.on_stage = [](const std::string& /*stage*/) {}, .on_hang = {}});
}

TEST(CheckMethod, RefusesWorkersOfWhichTheMethodAcceptsNone) {
  try {
    answer_for({1, 3});
    FAIL() << "nothing was examined";
  } catch (const InputError& error) {
    EXPECT_EQ(error.place().pointer, "/workers");
    EXPECT_THAT(error.message(), HasSubstr("must be a multiple of 2"));
  }
}

TEST(CheckMethod, RefusesAnEmptyListOfWorkers) {
  EXPECT_THROW(answer_for(Json::array()), InputError);
}

TEST(CheckMethod, ListsTheWorkersThatItSkipped) {
  const Json answer = answer_for({2, 3});
  EXPECT_EQ(answer.at("examined"), Json::parse(R"([{"backend": "in_process", "workers": 2}])"));
  ASSERT_EQ(answer.at("skipped").size(), 1);
  EXPECT_EQ(answer.at("skipped")[0].at("workers"), 3);
  EXPECT_THAT(answer.at("skipped")[0].at("reason").get<std::string>(), HasSubstr("must be a multiple of 2"));
}

}  // namespace
}  // namespace thinpipe::trainer
