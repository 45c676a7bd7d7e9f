// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/conformance/tests/variants.hh"

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer::testing {
namespace {

// Values of options whose description lists none: options without a default, and options that matter.
const std::map<std::string, std::vector<Json>> further_choices = {
    {"demo.chunk", {64, 4}},
    {"demo.k", {32, 1}},
    {"deepreduce.inner", {{{"name", "topk"}, {"ratio", 0.1}}}},
    {"diloco.inner",
     {{{"name", "dense"}},
      {{"name", "qsgd"}},
      {{"name", "int8"}},
      {{"name", "int8"}, {"sum", "each_hop"}},
      {{"name", "powersgd"}},
      {{"name", "pactrain"}, {"values", "ternary"}}}},
    {"dgc.ratio", {0.1}},
    {"dgc.sample", {0.01, 1.0}},
    {"dgc.momentum", {0.9, 0.0}},
    {"dgc.clip", {0.0, 1.0}},
    {"dgc.warm_up_steps", {0, 3}},
    {"e3m0.block_size", {512, 3}},
    {"ef.inner", {{{"name", "scaled_sign"}}, {{"name", "terngrad"}}, {{"name", "qsgd"}}}},
    {"gmc.detached", {0.0, 0.3}},
    {"gmc.momentum", {0.9, 0.0}},
    {"gmc.ratio", {0.1, 1.0}},
    {"int8.block_size", {256, 3}},
    {"iwp.ratio", {0.1}},
    {"iwp.voters", {1, 3}},
    {"iwp.warm_up_steps", {0, 3}},
    {"netsense.inner",
     {{{"name", "topk"}, {"ratio", 0.1}},
      {{"name", "topk_chunked"}, {"ratio", 0.1}},
      {{"name", "dgc"}, {"ratio", 0.1}},
      {{"name", "gmc"}, {"ratio", 0.1}},
      {{"name", "ok_topk"}, {"ratio", 0.1}},
      {{"name", "spardl"}, {"ratio", 0.1}}}},
    {"ok_topk.ratio", {0.1, 1.0}},
    {"ok_topk.threshold_every", {32, 2}},
    {"ok_topk.boundaries_every", {64, 1}},
    {"omnireduce.block_size", {256, 13}},
    {"omnireduce.blocks_per_message", {64, 2}},
    {"omnireduce.streams", {4, 1}},
    {"omnireduce_bulk.block_size", {256, 3}},
    {"powersgd.min_compression", {2.0, 0.0}},
    {"powersgd.rank", {4, 1}},
    {"powersgd.start_step", {0, 2}},
    {"qsgd.bits", {2, 4, 8}},
    {"qsgd.block_size", {512, 3}},
    {"signsgd.momentum", {0.0, 0.9}},
    {"sbc.ratio", {0.1, 1.0}},
    {"sparseloco.chunk", {64, 3}},
    {"sparseloco.k", {64, 2}},
    {"sparseloco.beta", {0.95, 1.0}},
    {"spardl.ratio", {0.1, 1.0}},
    {"spardl.teams", {1, 2, 3, 4}},
    {"streaming_diloco.inner",
     {{{"name", "dense"}}, {{"name", "int8"}}, {{"name", "gmc"}, {"momentum", 0.0}}}},
    {"terngrad.clip", {2.5, 0.0}},
    {"thc.bits", {4, 2}},
    {"thc.granularity", {30, 15}},
    {"thc.block_size", {8192, 16}},
    {"topk_chunked.ratio", {0.1}},
    {"topk_chunked.chunk_size", {64, 3}},
    {"topk.ratio", {0.1, 1.0}}};

// Combinations of options that matter only together.
const std::map<std::string, std::vector<Json>> further_combinations = {
    {"iwp",
     {{{"threshold", "fixed"}, {"alpha", 1.0}},
      {{"threshold", "fixed"}, {"alpha", 1e9}},
      {{"threshold", "fixed"}, {"voters", 3}, {"scope", "model"}}}},
    {"dgc",
     {{{"sparsifier", "random_block"}, {"ratio", 0.1}, {"momentum", 0.0}},
      {{"sparsifier", "random_block"}, {"ratio", 0.1}, {"nesterov", true}, {"warm_up_steps", 3}},
      {{"sparsifier", "random_block"}, {"ratio", 1.0}, {"clip", 1.0}}}},
    {"gmc",
     {{{"sparsifier", "random_block"}, {"ratio", 0.1}, {"momentum", 0.0}},
      {{"sparsifier", "random_block"}, {"ratio", 1.0}},
      {{"sparsifier", "random_block"}, {"ratio", 0.1}, {"detached", 0.3}}}},
    {"pactrain",
     {{{"values", "ternary"}, {"clip", 0.0}},
      {{"values", "ternary"}, {"error_feedback", true}},
      {{"values", "ternary"}, {"source", "observed"}}}}};

std::vector<Json> choices(const std::string& method, const Json& option) {
  const std::string path = fmt::format("{}.{}", method, option.at("key").get<std::string>());
  if (const auto listed = further_choices.find(path); listed != further_choices.end()) {
    return listed->second;
  }
  if (option.contains("one_of")) return option["one_of"];
  if (option.at("type") == "boolean") return {false, true};
  if (!option.contains("default")) throw Error(path + " has no default: give the conformance suite values");
  return {option["default"]};
}

// Returns for example "values_ternary", in the form of a test name.
std::string spelt(const std::string& key, const Json& value) {
  std::string out = fmt::format("_{}_{}", key, value.is_string() ? value.get<std::string>() : value.dump());
  std::ranges::replace_if(
      out, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return out;
}

bool is_refused(const Json& options) {
  try {
    SynchroniserRegistry::instance().make(options, {"test", ""}, {});
  } catch (const InputError&) {
    return true;
  }
  return false;
}

Variant with(const Variant& variant, const Json& option, const Json& value) {
  const std::string key = option.at("key");
  Variant out = variant;
  out.options[key] = value;
  if (!option.contains("default") || value != option["default"]) out.name += spelt(key, value);
  return out;
}

// Returns every combination of the options' choices.
std::vector<Variant> combined(const std::string& method, const Json& options) {
  std::vector<Variant> variants = {{method, {{"name", method}}}};
  for (const Json& option : options) {
    std::vector<Variant> extended;
    for (const Variant& variant : variants) {
      for (const Json& value : choices(method, option)) extended.push_back(with(variant, option, value));
    }
    variants = std::move(extended);
  }
  return variants;
}

// Returns the variant with the first choice of every option, and those in which one option differs from it.
std::vector<Variant> one_by_one(const std::string& method, const Json& options) {
  std::vector<Variant> variants;
  const auto add = [&](const std::string& changed, const Json* value) {
    Variant variant{method, {{"name", method}}};
    for (const Json& option : options) {
      variant = with(variant, option, option.at("key") == changed ? *value : choices(method, option).front());
    }
    variants.push_back(std::move(variant));
  };
  add("", nullptr);
  for (const Json& option : options) {
    const std::vector<Json> all = choices(method, option);
    for (std::size_t i = 1; i < all.size(); ++i) add(option.at("key"), &all[i]);
  }
  return variants;
}

Variant combination(const std::string& method, const Json& options) {
  Variant variant{method, {{"name", method}}};
  for (const auto& [key, value] : options.items()) {
    variant.options[key] = value;
    variant.name += spelt(key, value);
  }
  return variant;
}

// If a method has more combinations, they cost more time than they are worth.
constexpr std::size_t max_combinations = 12;

}  // namespace

std::vector<Variant> all_variants() {
  std::vector<Variant> out;
  for (const auto& [method, entry] : SynchroniserRegistry::instance().entries()) {
    std::vector<Variant> variants = combined(method, entry.options);
    if (variants.size() > max_combinations) variants = one_by_one(method, entry.options);
    if (const auto further = further_combinations.find(method); further != further_combinations.end()) {
      for (const Json& options : further->second) variants.push_back(combination(method, options));
    }
    std::erase_if(variants, [](const Variant& variant) { return is_refused(variant.options); });
    std::ranges::move(variants, std::back_inserter(out));
  }
  return out;
}

}  // namespace thinpipe::trainer::testing
