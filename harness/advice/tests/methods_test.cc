// SPDX-License-Identifier: Apache-2.0
#include "harness/advice/methods.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::vector<std::string> known = {"dense", "fp16", "topk", "pactrain"};

std::string refusal(const std::string& text) {
  try {
    read_methods({text}, known);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(ReadMethods, TheBaselinesComeFirstAndOnce) {
  const auto methods = read_methods({"topk 0.01", "fp16"}, known);
  ASSERT_EQ(methods.size(), 3);
  EXPECT_EQ(methods[0].label, "dense");
  EXPECT_EQ(methods[1].label, "fp16");
  EXPECT_EQ(methods[2].patch, (Json{{"synchroniser", {{"name", "topk"}, {"ratio", 0.01}}}}));
}

TEST(ReadMethods, OptionsFollowTheName) {
  const auto methods = read_methods({"topk ratio=0.05 indices=bitmap", "pactrain pruning.ratio=0.9"}, known);
  EXPECT_EQ(methods[2].patch,
            (Json{{"synchroniser", {{"name", "topk"}, {"ratio", 0.05}, {"indices", "bitmap"}}}}));
  EXPECT_EQ(methods[3].patch,
            (Json{{"synchroniser", {{"name", "pactrain"}}}, {"pruning", {{"ratio", 0.9}}}}));
}

TEST(ReadMethods, RefusesWithARemedy) {
  EXPECT_THAT(refusal("tokp 0.01"),
              AllOf(HasSubstr("--methods tokp 0.01"), HasSubstr("unknown method \"tokp\""),
                    HasSubstr("did you mean \"topk\"")));
  EXPECT_THAT(refusal("topk 0.05"), HasSubstr("must be written KEY=VALUE, such as ratio=0.05"));
}

}  // namespace
}  // namespace thinpipe
