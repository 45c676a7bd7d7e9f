// SPDX-License-Identifier: Apache-2.0
#include "harness/advice/codec_costs.hh"

#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"

namespace thinpipe {
namespace {

Json run(const std::string& name, double encode_ms, double decode_ms) {
  return {{"name", name}, {"encode_ms", encode_ms}, {"decode_ms", decode_ms}};
}

CodecCosts costs() {
  return {{{"context", {{"cpu", "a CPU"}, {"date", "2026-11-22T18:02:43+00:00"}}},
           {"benchmarks",
            {run("synchronise/topk_0.01/1000/manual_time", 2, 8),
             run("synchronise/topk_0.01/3000/manual_time", 6, 30),
             run("synchronise/terngrad/1000/manual_time", 1, 1),
             run("synchronise/terngrad_int8/1000/manual_time", 3, 3),
             run("synchronise/pactrain/1000/manual_time", 5, 5),
             run("synchronise/pactrain_ternary/1000/manual_time", 7, 7),
             {{"name", "copy/1000"}}}}},
          "b.json"};
}

Json plan(double entries, double gathered_bytes = 0) {
  return {{"gradient_bytes", 4 * entries}, {"gathered_bytes_per_iteration", gathered_bytes}};
}

// The configuration of a method, pruned as in the benchmark.
Json config(const Json& synchroniser, double prune_ratio = 0.5) {
  return {{"synchroniser", synchroniser}, {"pruning", {{"ratio", prune_ratio}}}};
}

const Json topk = {{"name", "topk"}, {"ratio", 0.01}, {"indices", "u32"}, {"scope", "bucket"}};

TEST(CodecCosts, AreInterpolatedBetweenSizesAndProportionalBeyond) {
  EXPECT_EQ(costs().origin(), "a CPU, 2026-11-22");
  const auto decode_ms = [](double entries) {
    return 1000 * costs().of(config(topk), plan(entries), 8).value().decode_s;
  };
  EXPECT_NEAR(decode_ms(500), 4, 1e-9);
  EXPECT_NEAR(decode_ms(1000), 8, 1e-9);
  EXPECT_NEAR(decode_ms(2000), 19, 1e-9);
  EXPECT_NEAR(decode_ms(6000), 60, 1e-9);
}

TEST(CodecCosts, AWorkerDecodesTheGatheredMessagesOfAll) {
  const auto time = costs().of(config(topk), plan(1000, 4000), 32).value();
  EXPECT_NEAR(time.decode_s, 4 * 8e-3, 1e-12);
  EXPECT_NEAR(time.encode_s, 2e-3, 1e-12);
}

TEST(CodecCosts, AreUnknownForOtherOptions) {
  Json other = topk;
  other["ratio"] = 0.1;
  EXPECT_FALSE(costs().of(config(other), plan(1000), 8));
  EXPECT_FALSE(costs().of(config({{"name", "mine"}}), plan(1000), 8));
  EXPECT_FALSE(CodecCosts().of(config(topk), plan(1000), 8));
  const auto pactrain_ms = [](const char* values) {
    const Json options = {{"name", "pactrain"}, {"values", values}, {"error_feedback", false}};
    return 1000 * costs().of(config(options), plan(1000), 8).value().encode_s;
  };
  EXPECT_NEAR(pactrain_ms("float32"), 5, 1e-9);
  EXPECT_NEAR(pactrain_ms("ternary"), 7, 1e-9);
}

TEST(CodecCosts, AreUnknownForAnotherShareOfPackedEntries) {
  const Json pactrain = {{"name", "pactrain"}, {"values", "float32"}, {"error_feedback", false}};
  EXPECT_TRUE(costs().of(config(pactrain, 0.5), plan(1000), 8));
  EXPECT_FALSE(costs().of(config(pactrain, 0.9), plan(1000), 8));
  EXPECT_FALSE(costs().of({{"synchroniser", pactrain}}, plan(1000), 8)) << "nothing is pruned";
  EXPECT_TRUE(costs().of(config(topk, 0.9), plan(1000), 8)) << "it chooses as many entries of any model";
}

TEST(CodecCosts, EachOptionThatChangesTheWorkMakesThemUnknown) {
  const std::string file = source_path("results/reference/encode-decode.json");
  const CodecCosts reference(parse_json_file(file), file);
  const auto is_known = [&](Json options, const Json& changed) {
    options.update(changed);
    return reference.of(config(options), plan(1e6), 8).has_value();
  };
  const auto expect_marked = [&](const Json& measured, const Json& changed) {
    EXPECT_TRUE(is_known(measured, Json::object())) << measured;
    EXPECT_FALSE(is_known(measured, changed)) << measured << changed;
  };
  const Json gmc = {{"name", "gmc"},         {"ratio", 0.01},   {"momentum", 0.9},
                    {"sparsifier", "top_k"}, {"detached", 0.0}, {"indices", "u32"}};
  expect_marked(gmc, {{"indices", "golomb"}});
  expect_marked(gmc, {{"momentum", 0}});
  expect_marked(gmc, {{"option_to_come", 1}});
  EXPECT_TRUE(is_known(gmc, {{"momentum", 0.95}})) << "the same work";
  const Json iwp = {{"name", "iwp"},     {"ratio", 0.015625}, {"threshold", "importance"}, {"alpha", 0.01},
                    {"scope", "bucket"}, {"voters", 1},       {"warm_up_steps", 0}};
  expect_marked(iwp, {{"ratio", 0.25}, {"voters", 8}});
  EXPECT_TRUE(is_known(iwp, {{"warm_up_steps", 100}})) << "the same work after them";
  expect_marked({{"name", "spardl"}, {"ratio", 0.01}, {"teams", 1}}, {{"teams", 2}});
  expect_marked({{"name", "demo"}, {"beta", 0.999}, {"chunk", 64}, {"k", 32}}, {{"k", 1}});
  const Json dgc = {
      {"name", "dgc"}, {"ratio", 0.001}, {"sparsifier", "top_k"}, {"sample", 0.01}, {"indices", "u32"}};
  expect_marked(dgc, {{"sample", 1}});
  expect_marked(dgc, {{"sparsifier", "random_block"}});
}

TEST(CodecCosts, AnExchangeLeftOpenIsThatOfThePlan) {
  const Json terngrad = {{"name", "terngrad"}, {"exchange", "auto"}};
  Json sums = plan(1000);
  sums["codes_per_iteration"] = 1000;
  EXPECT_NEAR(costs().of(config(terngrad), plan(1000), 8).value().encode_s, 1e-3, 1e-12);
  EXPECT_NEAR(costs().of(config(terngrad), sums, 8).value().encode_s, 3e-3, 1e-12);
}

TEST(CodecCosts, RefuseOtherFiles) {
  EXPECT_THROW(CodecCosts(Json::object(), "b.json"), InputError);
  EXPECT_THROW(CodecCosts({{"context", Json::object()}, {"benchmarks", Json::array()}}, "b.json"),
               InputError);
}

TEST(CodecCosts, TheReferenceResultsHaveTheUsualMethods) {
  const std::string file = source_path("results/reference/encode-decode.json");
  const CodecCosts reference(parse_json_file(file), file);
  EXPECT_TRUE(reference.of(config({{"name", "dense"}}), plan(1e6), 8));
  EXPECT_TRUE(reference.of(config(topk), plan(1e6), 8));
  EXPECT_TRUE(reference.of(config({{"name", "powersgd"}, {"rank", 4}, {"start_step", 0}}), plan(1e6), 8));
}

}  // namespace
}  // namespace thinpipe
