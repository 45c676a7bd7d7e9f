// SPDX-License-Identifier: Apache-2.0
#include "harness/advice/codec_costs.hh"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace thinpipe {
namespace {

constexpr double workers_of_benchmark = 8;
constexpr std::string_view prefix = "synchronise/";

// A benchmark of trainer/synchronisers/benchmarks/synchroniser_benchmark.cc, with all options that decide its
// time. Absent are those that ran with a single worker, which decodes no peer's message, and those that
// exchange only once in several steps.
struct Benchmark {
  const char* name;
  Json options;
  std::optional<double> prune_ratio = std::nullopt;  // of methods whose work depends on it
};

const std::vector<Benchmark>& benchmarks() {
  static const std::vector<Benchmark> all = {
      {"dense", {{"name", "dense"}}},
      {"fp16", {{"name", "fp16"}}},
      {"bf16", {{"name", "bf16"}}},
      {"topk_0.01",
       {{"name", "topk"}, {"ratio", 0.01}, {"scope", "bucket"}, {"indices", "u32"}, {"vectors", "dense"}}},
      {"topk_0.1_bitmap",
       {{"name", "topk"}, {"ratio", 0.1}, {"scope", "bucket"}, {"indices", "bitmap"}, {"vectors", "dense"}}},
      {"topk_0.01_golomb",
       {{"name", "topk"}, {"ratio", 0.01}, {"scope", "bucket"}, {"indices", "golomb"}, {"vectors", "dense"}}},
      {"pactrain",
       {{"name", "pactrain"}, {"values", "float32"}, {"error_feedback", false}, {"source", "declared"}},
       0.5},
      {"pactrain_ternary",
       {{"name", "pactrain"}, {"values", "ternary"}, {"error_feedback", false}, {"source", "declared"}},
       0.5},
      {"terngrad", {{"name", "terngrad"}, {"exchange", "all_gather"}, {"clip", 2.5}}},
      {"terngrad_int8", {{"name", "terngrad"}, {"exchange", "all_reduce"}, {"clip", 2.5}}},
      {"qsgd_4", {{"name", "qsgd"}, {"bits", 4}, {"block_size", 512}, {"norm", "max"}}},
      {"thc",
       {{"name", "thc"},
        {"bits", 4},
        {"granularity", 30},
        {"clip", 0.03125},
        {"block_size", 8192},
        {"exchange", "sharded"}}},
      {"signsgd", {{"name", "signsgd"}, {"exchange", "all_gather"}, {"momentum", 0}}},
      {"one_bit", {{"name", "one_bit"}, {"scale", "tensor"}}},
      {"dgc_0.001",
       {{"name", "dgc"},
        {"ratio", 0.001},
        {"sparsifier", "top_k"},
        {"momentum", 0.9},
        {"nesterov", false},
        {"masking", true},
        {"clip", 0},
        {"sample", 0.01},
        {"indices", "u32"}}},
      {"gmc_0.01",
       {{"name", "gmc"},
        {"ratio", 0.01},
        {"scope", "bucket"},
        {"momentum", 0.9},
        {"sparsifier", "top_k"},
        {"detached", 0},
        {"indices", "u32"}}},
      {"iwp",
       {{"name", "iwp"},
        {"ratio", 0.015625},
        {"threshold", "importance"},
        {"scope", "bucket"},
        {"voters", 1}}},
      {"topk_chunked_0.01", {{"name", "topk_chunked"}, {"ratio", 0.01}, {"chunk_size", 64}}},
      {"spardl_0.01",
       {{"name", "spardl"}, {"ratio", 0.01}, {"teams", 1}, {"vectors", "dense"}, {"indices", "u32"}}},
      {"powersgd", {{"name", "powersgd"}, {"rank", 4}, {"min_compression", 2}}},
      {"demo", {{"name", "demo"}, {"chunk", 64}, {"k", 32}}},
  };
  return all;
}

double planned(const Json& plan, const char* key) {
  return plan.value(key, 0.0);  // older records lack some
}

// Returns the options with the exchange that the method chose for its network, if it was left open.
Json with_exchange(Json options, const Json& plan) {
  if (options.value("exchange", "") != "auto") return options;
  const bool sums = planned(plan, "codes_per_iteration") > 0;
  options["exchange"] = sums ? "all_reduce" : options.value("name", "") == "thc" ? "sharded" : "all_gather";
  return options;
}

// Returns whether the option changes the time of a step little, or only that of the first ones.
bool is_neutral(const std::string& method, const std::string& option) {
  static const std::set<std::pair<std::string, std::string>> all = {
      {"fp16", "variant"},      {"fp16", "scale"},    {"pactrain", "stable_iterations"},
      {"pactrain", "rule"},     {"pactrain", "clip"}, {"dgc", "warm_up_steps"},
      {"iwp", "warm_up_steps"}, {"iwp", "alpha"},     {"powersgd", "start_step"},
      {"demo", "beta"}};
  return all.contains({method, option});
}

// Returns whether a step with one value does the same work as with the other. A coefficient of 0 saves work.
bool is_same_work(const std::string& option, const Json& one, const Json& other) {
  static const std::set<std::string> coefficients = {"clip", "momentum"};
  if (!coefficients.contains(option)) return one == other;
  return (one == 0) == (other == 0);
}

// An option that the benchmark does not list is newer than the benchmark, or belongs to another method.
bool is_benchmark_of(const Json& options, const Json& measured) {
  if (options.value("name", "") != measured.at("name")) return false;
  return std::ranges::all_of(options.items(), [&measured](const auto& each) {
    const auto found = measured.find(each.key());
    return is_neutral(measured.at("name"), each.key()) ||
           (found != measured.end() && is_same_work(each.key(), each.value(), *found));
  });
}

std::string origin_of(const Json& context) {
  return fmt::format("{}, {}", context.value("cpu", "unknown CPU"),
                     context.value("date", "unknown day").substr(0, 10));
}

}  // namespace

CodecCosts::CodecCosts(const Json& result, const std::string& file) {
  const Place place{file, ""};
  const char* const remedy = "name a file that synchroniser_benchmarks --benchmark_out=FILE wrote, or none";
  try {
    origin_ = origin_of(result.at("context"));
    for (const Json& run : result.at("benchmarks")) {
      const auto name = run.at("name").get<std::string>();  // synchronise/topk_0.01/1048576/manual_time
      if (!name.starts_with(prefix)) continue;
      const std::size_t end = name.find('/', prefix.size());
      if (end == std::string::npos) continue;
      double entries = 0;
      std::from_chars(name.data() + end + 1, name.data() + name.size(), entries);
      if (entries <= 0 || run.value("error_occurred", false)) continue;
      times_[name.substr(prefix.size(), end - prefix.size())][entries] = {
          .encode_s = run.at("encode_ms").get<double>() / 1000,
          .decode_s = run.at("decode_ms").get<double>() / 1000};
    }
  } catch (const Json::exception&) {
    throw InputError(place, fmt::format("is not the output of a benchmark of methods; {}", remedy));
  }
  if (times_.empty()) throw InputError(place, fmt::format("has no benchmark of a method; {}", remedy));
}

std::optional<CodecTime> CodecCosts::of(const Json& config, const Json& plan, std::int64_t workers) const {
  const Json options = with_exchange(config.value("synchroniser", Json::object()), plan);
  const double prune_ratio = config.value(Json::json_pointer("/pruning/ratio"), 0.0);
  const auto found = std::ranges::find_if(benchmarks(), [&](const Benchmark& each) {
    return times_.contains(each.name) && is_benchmark_of(options, each.options) &&
           prune_ratio == each.prune_ratio.value_or(prune_ratio);
  });
  if (found == benchmarks().end()) return std::nullopt;
  CodecTime time = at(found->name, plan.at("gradient_bytes").get<double>() / 4);
  if (planned(plan, "gathered_bytes_per_iteration") > 0) {
    time.decode_s *= static_cast<double>(workers) / workers_of_benchmark;
  }
  return time;
}

CodecTime CodecCosts::at(const std::string& benchmark, double entries) const {
  const auto& by_entries = times_.at(benchmark);
  const auto above = by_entries.lower_bound(entries);
  const auto scaled = [entries](const auto& measured) {
    const double factor = entries / measured.first;
    return CodecTime{measured.second.encode_s * factor, measured.second.decode_s * factor};
  };
  if (above == by_entries.begin()) return scaled(*above);
  const auto below = std::prev(above);
  if (above == by_entries.end()) return scaled(*below);
  const double share = (entries - below->first) / (above->first - below->first);
  return {std::lerp(below->second.encode_s, above->second.encode_s, share),
          std::lerp(below->second.decode_s, above->second.decode_s, share)};
}

}  // namespace thinpipe
