// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/comparison/judgement.hh"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/reports/seed_summary.hh"

namespace thinpipe {
namespace {

// One value per seed.
using Values = std::map<std::string, double>;

std::string seed_of(const Json& row) {
  return row.at("seed").dump();
}

std::optional<double> value_of(const Json& row, const char* member) {
  const auto found = row.find(member);
  if (found == row.end()) return std::nullopt;
  const Json value = found->is_object() ? found->value("mean", Json(nullptr)) : *found;
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

// Returns the first completed run of each seed: two folders may have different records of one run.
std::map<std::string, std::size_t> first_of_each_seed(const PointSide& side) {
  std::map<std::string, std::size_t> runs;
  for (const std::size_t i : side.completed()) runs.emplace(seed_of(side.row(i)), i);
  return runs;
}

Values values_of(const PointSide& side, const char* member) {
  Values values;
  for (const auto& [seed, run] : first_of_each_seed(side)) {
    if (const auto value = value_of(side.row(run), member)) values.emplace(seed, *value);
  }
  return values;
}

std::vector<double> numbers(const Values& values) {
  std::vector<double> out;
  for (const auto& [seed, value] : values) out.push_back(value);
  return out;
}

std::vector<std::string> common_seeds(const Values& a, const Values& b) {
  std::vector<std::string> seeds;
  for (const auto& [seed, value] : a) {
    if (b.contains(seed)) seeds.push_back(seed);
  }
  return seeds;
}

// Returns B over A; two zeros are equal.
double ratio_of(double a, double b) {
  return a == b ? 1 : b / a;
}

bool is_within(double ratio, double tolerance) {
  return ratio >= 1 / (1 + tolerance) && ratio <= 1 + tolerance;
}

Verdict verdict_of(double low, double high, double tolerance) {
  if (is_within(low, tolerance) && is_within(high, tolerance)) return Verdict::reproduced;
  return low > 1 + tolerance || high < 1 / (1 + tolerance) ? Verdict::differs : Verdict::cannot_be_judged;
}

bool trains_without_network(const std::string& mode) {
  return mode == "converge" || mode == "replay" || mode == "simulate";
}

Judgement undecided(Judgement judgement, std::string reason) {
  judgement.verdict = Verdict::cannot_be_judged;
  judgement.reason = std::move(reason);
  return judgement;
}

Judgement differing(Judgement judgement, std::string reason) {
  judgement.verdict = Verdict::differs;
  judgement.reason = std::move(reason);
  return judgement;
}

// Returns how many of a side's completed runs have a network of this verdict, as text; empty if none has.
std::string networks(const PointSide& side, const char* name, const char* verdict) {
  const std::vector<std::size_t> runs = side.completed();
  const auto count =
      std::ranges::count_if(runs, [&](std::size_t i) { return side.row(i).at("fidelity") == verdict; });
  return count == 0 ? "" : fmt::format("{}: network {} in {} of {} runs", name, verdict, count, runs.size());
}

std::string doubtful_networks(const PointPair& pair) {
  std::vector<std::string> parts;
  for (const char* const verdict : {"degraded", "not judged"}) {
    for (std::string part : {networks(pair.a, "A", verdict), networks(pair.b, "B", verdict)}) {
      if (!part.empty()) parts.push_back(std::move(part));
    }
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

// Returns why no number of the two sides can be compared; empty if it can.
std::string obstacle(const ComparedQuantity& quantity, const PointPair& pair, const ComparisonRule& rule) {
  if (pair.a.mode() != pair.b.mode())
    return fmt::format("modes differ: {}, {}", pair.a.mode(), pair.b.mode());
  std::vector<std::string> one_sided;
  if (!rule.despite_configuration && !different_settings(pair.a, pair.b, one_sided).empty())
    return "configurations differ";
  if (pair.a.completed().empty()) return "no run of A completed";
  if (pair.b.completed().empty()) return "no run of B completed";
  if (quantity.is_of_target) {
    const auto differ = [&](const char* member) {
      return pair.a.group->at(member) != pair.b.group->at(member);
    };
    if (differ("target")) return "targets differ; name one with --target";
    if (differ("hold")) return "hold differs; name one with --hold";
  }
  if (quantity.kind == QuantityKind::measured && !rule.despite_network) return doubtful_networks(pair);
  return "";
}

// Returns the reason if no seed is on both sides.
std::string no_common_seed(const Values& a, const Values& b) {
  const auto seeds = [](const Values& values) {
    std::vector<std::string> names;
    for (const auto& [seed, value] : values) names.push_back(seed);
    return fmt::format("{}", fmt::join(names, ", "));
  };
  return fmt::format("no seed in common: A has {}, B has {}", seeds(a), seeds(b));
}

// Returns the summary of B over A of these seeds; null if a ratio has no logarithm, because one value is
// zero.
Json ratios_of(const Values& a, const Values& b, const std::vector<std::string>& seeds) {
  std::vector<double> ratios;
  for (const std::string& seed : seeds) {
    ratios.push_back(ratio_of(a.at(seed), b.at(seed)));
    if (!std::isfinite(ratios.back()) || ratios.back() <= 0) return nullptr;
  }
  return summarise_ratios(ratios);
}

// Judges numbers that do not depend on chance: each seed's ratio must be within the tolerance.
Judgement judge_exactly(Judgement judgement, const Values& a, const Values& b) {
  const std::vector<std::string> seeds = common_seeds(a, b);
  if (seeds.empty()) return undecided(std::move(judgement), no_common_seed(a, b));
  std::vector<std::string> outside;
  for (const std::string& seed : seeds) {
    if (!is_within(ratio_of(a.at(seed), b.at(seed)), judgement.tolerance)) outside.push_back(seed);
  }
  judgement.compared = "exactly";
  judgement.seeds = static_cast<std::int64_t>(seeds.size());
  judgement.ratio = ratios_of(a, b, seeds);
  if (!outside.empty())
    return differing(std::move(judgement), fmt::format("outside with seed {}", fmt::join(outside, ", ")));
  judgement.verdict = Verdict::reproduced;
  if (std::ranges::all_of(seeds, [&](const std::string& seed) { return a.at(seed) == b.at(seed); }))
    judgement.reason = "identical";
  return judgement;
}

// Returns the ratio of the means, whose interval goes from the lower end over the upper one to the upper over the lower
// one; null if one is not finite.
Json ratio_of_means(const Values& a, const Values& b) {
  const Json ours = summarise(numbers(a));
  const Json theirs = summarise(numbers(b));
  Json out = {{"count", 1}, {"standard_deviation", nullptr}};
  for (const auto& [name, of_b, of_a] :
       {std::tuple("mean", "mean", "mean"), std::tuple("ci95_low", "ci95_low", "ci95_high"),
        std::tuple("ci95_high", "ci95_high", "ci95_low")}) {
    const double ratio = ratio_of(ours.at(of_a).get<double>(), theirs.at(of_b).get<double>());
    if (!std::isfinite(ratio)) return nullptr;
    out[name] = ratio;
  }
  return out;
}

// Judges the ratio of runs with the same seed or, without enough of them, of the means.
Judgement judge_interval(Judgement judgement, const Values& a, const Values& b) {
  const std::vector<std::string> seeds = common_seeds(a, b);
  const bool is_paired = seeds.size() >= fewest_seeds;
  judgement.seeds = static_cast<std::int64_t>(seeds.size());
  if (!is_paired && (a.size() < fewest_seeds || b.size() < fewest_seeds)) {
    if (!seeds.empty()) judgement.ratio = ratios_of(a, b, seeds);
    return undecided(std::move(judgement),
                     fmt::format("too few seeds: A has {}, B has {}, {} in common; {} are needed", a.size(),
                                 b.size(), seeds.size(), fewest_seeds));
  }
  judgement.ratio = is_paired ? ratios_of(a, b, seeds) : ratio_of_means(a, b);
  if (judgement.ratio.is_null()) return undecided(std::move(judgement), "a value is zero");
  judgement.compared = is_paired ? "seeds" : "means";
  const auto low = judgement.ratio.at("ci95_low").get<double>();
  const auto high = judgement.ratio.at("ci95_high").get<double>();
  judgement.verdict = verdict_of(low, high, judgement.tolerance);
  if (judgement.verdict == Verdict::cannot_be_judged) judgement.reason = "the interval crosses the tolerance";
  return judgement;
}

// Judges the time to a target that some runs of one side never reached. With their whole time in its place, the ratio
// is a bound, which decides only if it is far enough off.
Judgement judge_bound(Judgement judgement, const PointPair& pair, const ComparedQuantity& quantity,
                      bool is_a_complete, const std::string& reached) {
  if (quantity.restricted == nullptr) return undecided(std::move(judgement), reached);
  Judgement bound = judge_interval(judgement, values_of(pair.a, quantity.restricted),
                                   values_of(pair.b, quantity.restricted));
  const double tolerance = judgement.tolerance;
  const bool is_off = !bound.compared.empty() &&
                      (is_a_complete ? bound.ratio.at("ci95_low").get<double>() > 1 + tolerance
                                     : bound.ratio.at("ci95_high").get<double>() < 1 / (1 + tolerance));
  if (!is_off) return undecided(std::move(judgement), reached);
  bound.compared = is_a_complete ? "lower bound" : "upper bound";
  return differing(std::move(bound), reached);
}

// Iterations to the target in modes that train without a network: each seed has to reach it on both sides or neither.
Judgement judge_target_exactly(Judgement judgement, const PointPair& pair, const Values& a, const Values& b) {
  std::vector<std::string> only_a;
  std::vector<std::string> only_b;
  const Values all_a = values_of(pair.a, judgement.quantity->restricted);
  const Values all_b = values_of(pair.b, judgement.quantity->restricted);
  for (const std::string& seed : common_seeds(all_a, all_b)) {
    if (a.contains(seed) && !b.contains(seed)) only_a.push_back(seed);
    if (b.contains(seed) && !a.contains(seed)) only_b.push_back(seed);
  }
  if (!only_a.empty())
    return differing(std::move(judgement),
                     fmt::format("reached only in A with seed {}", fmt::join(only_a, ", ")));
  if (!only_b.empty())
    return differing(std::move(judgement),
                     fmt::format("reached only in B with seed {}", fmt::join(only_b, ", ")));
  return judge_exactly(std::move(judgement), a, b);
}

Judgement judge_target(Judgement judgement, const PointPair& pair, const ComparedQuantity& quantity,
                       bool is_exact) {
  const Values a = values_of(pair.a, quantity.member);
  const Values b = values_of(pair.b, quantity.member);
  if (a.empty() && b.empty()) return undecided(std::move(judgement), "reached on neither side");
  if (is_exact) return judge_target_exactly(std::move(judgement), pair, a, b);
  const std::size_t runs_of_a = first_of_each_seed(pair.a).size();
  const std::size_t runs_of_b = first_of_each_seed(pair.b).size();
  if (a.size() == runs_of_a && b.size() == runs_of_b) return judge_interval(std::move(judgement), a, b);
  const std::string reached =
      fmt::format("reached by {} of {} in A, {} of {} in B", a.size(), runs_of_a, b.size(), runs_of_b);
  if (a.size() < runs_of_a && b.size() < runs_of_b) return undecided(std::move(judgement), reached);
  return judge_bound(std::move(judgement), pair, quantity, a.size() == runs_of_a, reached);
}

// Returns the largest difference of the test accuracy at the same evaluation or, without accuracies, of the test loss
// relative to the smaller of the two; nullopt if the evaluations are not the same.
std::optional<double> curve_distance(const Digest& a, const Digest& b) {
  if (a.curve.size() != b.curve.size()) return std::nullopt;
  double largest = 0;
  for (std::size_t i = 0; i < a.curve.size(); ++i) {
    const record::CurvePoint& one = a.curve[i];
    const record::CurvePoint& other = b.curve[i];
    if (one.iteration != other.iteration) return std::nullopt;
    if (one.test_accuracy && other.test_accuracy) {
      largest = std::max(largest, std::abs(*other.test_accuracy - *one.test_accuracy));
    } else if (one.test_loss && other.test_loss) {
      const double ratio = ratio_of(*one.test_loss, *other.test_loss);
      largest = std::max(largest, std::max(ratio, 1 / ratio) - 1);
    } else if (one.test_accuracy != other.test_accuracy || one.test_loss != other.test_loss) {
      return std::nullopt;
    }
  }
  return largest;
}

using Runs = std::map<std::string, std::pair<std::size_t, std::size_t>>;  // of A and B, by seed

Runs runs_by_seed(const PointPair& pair) {
  const auto others = first_of_each_seed(pair.b);
  Runs runs;
  for (const auto& [seed, run] : first_of_each_seed(pair.a)) {
    if (const auto other = others.find(seed); other != others.end())
      runs.emplace(seed, std::pair(run, other->second));
  }
  return runs;
}

Judgement judge_curve(Judgement judgement, const PointPair& pair) {
  const Runs runs = runs_by_seed(pair);
  if (runs.empty()) return undecided(std::move(judgement), "no seed in common");
  judgement.compared = "exactly";
  judgement.seeds = static_cast<std::int64_t>(runs.size());
  double largest = 0;
  for (const auto& [seed, indices] : runs) {
    const auto distance = curve_distance(pair.a.digest(indices.first), pair.b.digest(indices.second));
    if (!distance)
      return differing(std::move(judgement), fmt::format("seed {} was evaluated elsewhere", seed));
    largest = std::max(largest, *distance);
  }
  judgement.verdict = largest <= judgement.tolerance ? Verdict::reproduced : Verdict::differs;
  judgement.reason = largest == 0 ? "identical" : fmt::format("{:.2g} apart at most", largest);
  return judgement;
}

bool has_hash(const PointSide& side) {
  return std::ranges::any_of(side.runs,
                             [&side](std::size_t i) { return side.digest(i).parameters_hash.has_value(); });
}

Judgement judge_weights(Judgement judgement, const PointPair& pair) {
  std::int64_t same = 0;
  for (const auto& [seed, indices] : runs_by_seed(pair)) {
    const auto& ours = pair.a.digest(indices.first).parameters_hash;
    const auto& theirs = pair.b.digest(indices.second).parameters_hash;
    if (!ours || !theirs) continue;
    ++judgement.seeds;
    if (*ours == *theirs) ++same;
  }
  if (judgement.seeds == 0) return undecided(std::move(judgement), "no seed has hashes on both sides");
  judgement.compared = "exactly";
  judgement.verdict = same == judgement.seeds ? Verdict::reproduced : Verdict::differs;
  judgement.reason = fmt::format("identical with {} of {} seeds", same, judgement.seeds);
  return judgement;
}

// Returns whether neither side has the quantity.
bool is_absent(const ComparedQuantity& quantity, const PointPair& pair) {
  const std::string name = quantity.name;
  if (name == "weights") return !has_hash(pair.a) && !has_hash(pair.b);
  if (name == "curve")
    return !trains_without_network(pair.a.mode()) || !trains_without_network(pair.b.mode());
  const auto has = [&](const char* member) {
    return !values_of(pair.a, member).empty() || !values_of(pair.b, member).empty();
  };
  if (!quantity.is_of_target) return !has(quantity.member);
  return !has(quantity.member) && (quantity.restricted == nullptr || !has(quantity.restricted));
}

}  // namespace

std::string to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::reproduced:
      return "reproduced";
    case Verdict::differs:
      return "differs";
    case Verdict::cannot_be_judged:
      break;
  }
  return "cannot be judged";
}

Verdict worse(Verdict one, Verdict other) {
  for (const Verdict verdict : {Verdict::differs, Verdict::cannot_be_judged}) {
    if (one == verdict || other == verdict) return verdict;
  }
  return Verdict::reproduced;
}

double ComparisonRule::within(const ComparedQuantity& quantity) const {
  const auto own = tolerance_of.find(quantity.name);
  return own == tolerance_of.end() ? tolerance : own->second;
}

std::optional<Judgement> judge(const ComparedQuantity& quantity, const PointPair& pair,
                               const ComparisonRule& rule) {
  Judgement judgement{.quantity = &quantity, .tolerance = rule.within(quantity)};
  const bool is_number = *quantity.member != '\0';
  if (is_number) {
    judgement.a = summarise(numbers(values_of(pair.a, quantity.member)));
    judgement.b = summarise(numbers(values_of(pair.b, quantity.member)));
  }
  if (is_absent(quantity, pair)) return std::nullopt;
  if (std::string reason = obstacle(quantity, pair, rule); !reason.empty())
    return undecided(std::move(judgement), std::move(reason));
  if (std::string(quantity.name) == "curve") return judge_curve(std::move(judgement), pair);
  if (!is_number) return judge_weights(std::move(judgement), pair);
  const bool is_exact = quantity.kind == QuantityKind::computed ||
                        (quantity.kind == QuantityKind::learnt && trains_without_network(pair.a.mode()));
  if (quantity.is_of_target) return judge_target(std::move(judgement), pair, quantity, is_exact);
  const Values a = values_of(pair.a, quantity.member);
  const Values b = values_of(pair.b, quantity.member);
  if (a.empty() || b.empty())
    return undecided(std::move(judgement), a.empty() ? "A has no value" : "B has no value");
  return is_exact ? judge_exactly(std::move(judgement), a, b) : judge_interval(std::move(judgement), a, b);
}

}  // namespace thinpipe
