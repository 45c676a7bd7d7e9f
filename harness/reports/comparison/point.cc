// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/comparison/point.hh"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "harness/reports/seed_summary.hh"
#include "harness/reports/tables.hh"

namespace thinpipe {
namespace {

using Sides = std::vector<PointSide>;

Sides sides_of(const Report& report) {
  std::map<std::string, std::vector<std::size_t>>
      runs_of;  // by ids, two records of one run would be the same
  for (std::size_t i = 0; i < report.runs.size(); ++i) runs_of[seed_group_of(report.runs[i])].push_back(i);
  Sides sides;
  for (const Json& group : report.groups)
    sides.push_back({.report = &report, .group = &group, .runs = runs_of.at(seed_group_of(group))});
  return sides;
}

// A side, and whether it has a partner.
struct Candidate {
  PointSide side;
  bool is_taken = false;
};

using ByName = std::map<std::string, std::pair<std::vector<Candidate>, std::vector<Candidate>>>;

// Pairs the candidates for which `agree` holds, if each has just one such partner.
template <class Agree>
void pair_unique(const std::string& name, std::vector<Candidate>& as, std::vector<Candidate>& bs,
                 const Agree& agree, std::vector<PointPair>& pairs) {
  const auto partners = [&](const Candidate& one, std::vector<Candidate>& others) {
    std::vector<Candidate*> found;
    for (Candidate& other : others)
      if (!other.is_taken && agree(*one.side.group, *other.side.group)) found.push_back(&other);
    return found;
  };
  for (Candidate& a : as) {
    if (a.is_taken) continue;
    const std::vector<Candidate*> found = partners(a, bs);
    if (found.size() != 1 || partners(*found.front(), as).size() != 1) continue;
    a.is_taken = found.front()->is_taken = true;
    pairs.push_back({name, a.side, found.front()->side});
  }
}

std::set<std::string> modes_of(const std::vector<Candidate>& candidates) {
  std::set<std::string> modes;
  for (const Candidate& candidate : candidates) modes.insert(candidate.side.mode());
  return modes;
}

std::vector<std::string> alone(const std::string& name, const std::vector<Candidate>& candidates) {
  std::vector<std::string> names;
  for (const Candidate& candidate : candidates) {
    if (!candidate.is_taken)
      names.push_back(fmt::format("{} ({}, {} run{})", name, candidate.side.mode(),
                                  candidate.side.runs.size(), candidate.side.runs.size() == 1 ? "" : "s"));
  }
  return names;
}

bool is_same(const Json& one, const Json& other, std::initializer_list<const char*> members) {
  return std::ranges::all_of(members, [&](const char* member) { return one.at(member) == other.at(member); });
}

void match_name(const std::string& name, std::vector<Candidate>& as, std::vector<Candidate>& bs,
                MatchedPoints& out) {
  const auto begin = static_cast<std::ptrdiff_t>(out.pairs.size());
  pair_unique(
      name, as, bs,
      [](const Json& a, const Json& b) {
        return is_same(a, b, {"mode", "group", "target", "hold"});
      },
      out.pairs);
  pair_unique(
      name, as, bs,
      [](const Json& a, const Json& b) {
        return is_same(a, b, {"mode", "group"});
      },
      out.pairs);
  pair_unique(
      name, as, bs, [](const Json& a, const Json& b) { return is_same(a, b, {"mode"}); }, out.pairs);
  if (as.size() == 1 && bs.size() == 1)
    pair_unique(
        name, as, bs, [](const Json&, const Json&) { return true; }, out.pairs);
  std::ranges::move(alone(name, as), std::back_inserter(out.only_a));
  std::ranges::move(alone(name, bs), std::back_inserter(out.only_b));
  if (modes_of(as).size() <= 1 && modes_of(bs).size() <= 1) return;
  for (auto pair = out.pairs.begin() + begin; pair != out.pairs.end(); ++pair)
    pair->name = fmt::format("{} ({})", pair->name, pair->a.mode());
}

// Returns the configuration's settings by their places, without the seed and without the targets: these decide how a
// curve is read.
Json settings_of(const PointSide& side) {
  Json config = side.digest(side.runs.front()).config;
  config.erase("seed");
  config.erase("targets");
  return config.flatten();
}

// Returns whether a run has the same id on both sides. Ids stand for the content of files, wherever these lie.
bool share_a_run(const PointSide& a, const PointSide& b) {
  const Json& others = b.group->at("run_ids");
  return std::ranges::any_of(a.group->at("run_ids"), [&others](const Json& id) {
    return std::ranges::find(others, id) != others.end();
  });
}

// Parts that a configuration has only if the user asked for them. A later version writes a setting of its own everywhere,
// with the default that keeps older runs as they were; these it does not.
bool is_asked_for(const std::string& place) {
  constexpr std::array parts = {"/topology/links/", "/topology/hosts/", "/topology/switches/",
                                "/network_events/", "/rate_trace/",     "/cross_traffic/",
                                "/worker_events/",  "/trainer"};
  return std::ranges::any_of(parts, [&place](const char* part) { return place.starts_with(part); });
}

bool are_paths(const Json& one, const Json& other) {
  const auto is_path = [](const Json& value) {
    return value.is_string() && value.get<std::string>().starts_with('/');
  };
  return is_path(one) && is_path(other);
}

}  // namespace

std::vector<std::size_t> PointSide::completed() const {
  std::vector<std::size_t> out;
  std::ranges::copy_if(runs, std::back_inserter(out),
                       [this](std::size_t i) { return row(i).at("status") == "completed"; });
  return out;
}

MatchedPoints match(const Report& a, const Report& b) {
  const bool with_experiment = several_experiments(a.runs) || several_experiments(b.runs);
  std::vector<std::string> names;  // in order of their first runs
  ByName by_name;
  const auto add = [&](const Report& report, auto member) {
    for (PointSide& side : sides_of(report)) {
      const std::string name = name_of(*side.group, with_experiment);
      const auto [found, is_new] = by_name.try_emplace(name);
      if (is_new) names.push_back(name);
      (found->second.*member).push_back({std::move(side)});
    }
  };
  add(a, &ByName::mapped_type::first);
  add(b, &ByName::mapped_type::second);
  MatchedPoints out;
  for (const std::string& name : names) {
    auto& [as, bs] = by_name.at(name);
    match_name(name, as, bs, out);
  }
  return out;
}

std::vector<std::string> different_settings(const PointSide& a, const PointSide& b,
                                            std::vector<std::string>& one_sided) {
  std::vector<std::string> different;
  if (a.group->at("group") == b.group->at("group") || share_a_run(a, b)) return different;
  const Json ours = settings_of(a);
  const Json theirs = settings_of(b);
  for (const auto& [place, value] : ours.items()) {
    if (!theirs.contains(place)) {
      (is_asked_for(place) ? different : one_sided)
          .push_back(fmt::format("{}: {} in A", place, value.dump()));
    } else if (theirs.at(place) != value) {
      (are_paths(value, theirs.at(place)) ? one_sided : different)
          .push_back(fmt::format("{}: {}, {}", place, value.dump(), theirs.at(place).dump()));
    }
  }
  for (const auto& [place, value] : theirs.items()) {
    if (ours.contains(place)) continue;
    (is_asked_for(place) ? different : one_sided).push_back(fmt::format("{}: {} in B", place, value.dump()));
  }
  return different;
}

}  // namespace thinpipe
