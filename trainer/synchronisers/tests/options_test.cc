// SPDX-License-Identifier: Apache-2.0
// Which options methods refuse, and how they complete them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {
namespace {

std::string method_refusal(const Json& method) {
  try {
    SynchroniserRegistry::instance().make(method, {"x.json", "/synchroniser"}, {});
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(MethodOptions, OutOfRangeOrMistypedIsRefused) {
  using ::testing::HasSubstr;
  EXPECT_THAT(method_refusal({{"name", "topk"}, {"ratio", 0}}),
              HasSubstr("/synchroniser/ratio: must be above 0 and at most 1"));
  EXPECT_THAT(method_refusal({{"name", "topk"}, {"ratio", 1.5}}),
              HasSubstr("must be above 0 and at most 1, but is 1.5"));
  EXPECT_THAT(method_refusal({{"name", "topk"}}), HasSubstr("\"ratio\" is missing"));
  EXPECT_THAT(method_refusal({{"name", "tpok"}, {"ratio", 0.1}}), HasSubstr("did you mean \"topk\"?"));
  EXPECT_THAT(method_refusal({{"name", "fp16"}, {"scale", 1000}}), HasSubstr("power of two"));
  EXPECT_THAT(method_refusal({{"name", "pactrain"}, {"values", "ternery"}}),
              HasSubstr("did you mean \"ternary\"?"));
  EXPECT_THAT(method_refusal({{"name", "pactrain"}, {"source", "observe"}}),
              HasSubstr("did you mean \"observed\"?"));
  EXPECT_THAT(method_refusal({{"name", "pactrain"}, {"stable_iterations", 0}}),
              HasSubstr("must be at least 1"));
  EXPECT_THAT(method_refusal({{"name", "pactrain"}, {"error_feedback", true}}),
              HasSubstr("/synchroniser/error_feedback: needs \"values\": \"ternary\""));
  EXPECT_THAT(method_refusal({{"name", "qsgd"}, {"bits", 3}}),
              HasSubstr("/synchroniser/bits: must be 2, 4 or 8, but is 3"));
  EXPECT_THAT(method_refusal({{"name", "terngrad"}, {"exchange", "all_gathr"}}),
              HasSubstr("did you mean \"all_gather\"?"));
  EXPECT_THAT(method_refusal({{"name", "dense"}, {"ratio", 0.5}}), HasSubstr("unknown key \"ratio\""));
}

TEST(MethodOptions, WithoutAnEffectAreRefused) {
  using ::testing::HasSubstr;
  EXPECT_THAT(method_refusal({{"name", "fp16"}, {"variant", "pytorch"}, {"scale", 2}}),
              HasSubstr("/synchroniser/scale: has no effect with \"variant\": \"pytorch\""));
  EXPECT_THAT(method_refusal({{"name", "pactrain"}, {"clip", 0}}),
              HasSubstr("/synchroniser/clip: has an effect only with \"values\": \"ternary\""));
  EXPECT_THAT(
      method_refusal({{"name", "pactrain"}, {"values", "ternary"}, {"error_feedback", true}, {"clip", 0}}),
      HasSubstr("/synchroniser/clip: has an effect only"));
  for (const auto& [key, value] : {std::pair<std::string, Json>{"rule", "exact"}, {"stable_iterations", 9}}) {
    EXPECT_THAT(method_refusal({{"name", "pactrain"}, {key, value}}),
                HasSubstr("/synchroniser/" + key + ": has an effect only with \"source\": \"observed\""));
  }
  EXPECT_THAT(method_refusal({{"name", "deepreduce"},
                              {"indices", "huffman"},
                              {"false_positive_rate", 0.1},
                              {"inner", {{"name", "topk"}, {"ratio", 0.1}}}}),
              HasSubstr("/synchroniser/false_positive_rate: has an effect only with"));
  EXPECT_THAT(method_refusal(
                  {{"name", "netsense"}, {"inner", {{"name", "dgc"}, {"ratio", 0.1}, {"warm_up_steps", 9}}}}),
              HasSubstr("/synchroniser/inner/warm_up_steps: must be 0 inside netsense"));
}

// One configuration has one spelling, whichever defaults the user wrote out.
TEST(MethodOptions, OfAMethodInsideAnotherGetTheirDefaultsToo) {
  const Json filled = SynchroniserRegistry::instance().with_defaults(
      {{"name", "ef"}, {"inner", {{"name", "qsgd"}, {"block_size", 64}}}}, {"x.json", "/synchroniser"});
  EXPECT_EQ(filled.at("inner").at("bits"), 4);
  EXPECT_EQ(filled.at("inner").at("block_size"), 64);
}

}  // namespace
}  // namespace thinpipe::trainer
