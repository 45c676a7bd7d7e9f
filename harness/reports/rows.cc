// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/rows.hh"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/reports/seed_summary.hh"
#include "harness/reports/verdicts.hh"

namespace thinpipe {
namespace {

constexpr const char* baseline_methods[] = {"dense", "fp16"};
const char* const method_axis = "method";

// Returns the experiment, mode and labels except the method: they decide if no configuration matches.
std::string labels_without_method(const Json& row) {
  Json labels = row.at("labels");
  labels.erase(method_axis);
  return Json{row.at("experiment"), row.at("mode"), std::move(labels)}.dump();
}

// Finds a run's baselines without a search through all runs.
class Baselines {
 public:
  explicit Baselines(const std::vector<Digest>& digests) {
    for (const Digest& digest : digests) {
      if (digest.row.at("status") != "completed") continue;
      if (std::ranges::find(baseline_methods, digest.method) == std::end(baseline_methods)) continue;
      Alike& labelled = by_labels_[{digest.same_task, digest.method, labels_without_method(digest.row)}];
      Alike& alike = by_comparison_[{digest.comparable, digest.method}];
      if (digest.is_pruned()) {
        alike.by_pruning[digest.pruning.dump()] = &digest;
        labelled.by_pruning[digest.pruning.dump()] = &digest;
      } else {
        if (alike.unpruned == nullptr) alike.unpruned = &digest;
        labelled.unpruned = &digest;
      }
    }
  }

  // Returns nullptr if there is none.
  const Digest* find(const Digest& run, const std::string& method) const {
    if (const auto found = by_comparison_.find({run.comparable, method}); found != by_comparison_.end()) {
      if (const Digest* alike = found->second.of(run)) return alike;
    }
    const auto labelled = by_labels_.find({run.same_task, method, labels_without_method(run.row)});
    return labelled == by_labels_.end() ? nullptr : labelled->second.of(run);
  }

 private:
  struct Alike {
    const Digest* unpruned = nullptr;
    std::map<std::string, const Digest*> by_pruning;

    // Returns the unpruned one, else the one that is pruned as the run is, else nullptr.
    const Digest* of(const Digest& run) const {
      if (unpruned != nullptr) return unpruned;
      const auto found = by_pruning.find(run.pruning.dump());
      return found == by_pruning.end() ? nullptr : found->second;
    }
  };
  std::map<std::pair<std::string, std::string>, Alike> by_comparison_;
  std::map<std::tuple<std::string, std::string, std::string>, Alike> by_labels_;
};

// Returns the name of a run's method in its sweep.
std::string method_label(const Json& row) {
  return row.at("labels").value(method_axis, label_without_seed(row));
}

// Finds the runs of one method of the sweep, to compare others with them.
class NamedBaseline {
 public:
  NamedBaseline(const std::vector<Digest>& digests, const std::string& method) {
    std::set<std::string> known;
    for (const Digest& digest : digests) {
      const std::string label = method_label(digest.row);
      known.insert(label);
      if (label == method && digest.row.at("status") == "completed")
        by_place_[place_of(digest.row)] = &digest;
    }
    if (known.contains(method)) return;
    throw InputError({"--over " + method, ""},
                     fmt::format("no run has this method; the methods are: {}", fmt::join(known, ", ")));
  }

  // Returns nullptr if there is none.
  const Digest* find(const Digest& run) const {
    const auto found = by_place_.find(place_of(run.row));
    return found == by_place_.end() ? nullptr : found->second;
  }

 private:
  // Returns the experiment, mode, seed and labels except the method: equal for a run and its baseline.
  static std::string place_of(const Json& row) {
    if (!row.at("labels").contains(method_axis))
      return Json{row.at("experiment"), row.at("mode"), row.at("seed")}.dump();
    return row.at("seed").dump() + labels_without_method(row);
  }

  std::map<std::string, const Digest*> by_place_;
};

// Returns one value over the other; null unless both are above zero.
Json quotient(const Json& one, const Json& other) {
  if (!one.is_number() || !other.is_number() || one <= 0 || other <= 0) return nullptr;
  return one.get<double>() / other.get<double>();
}

// A run that did not reach the target counts with its whole time. If it is the run, the ratio is an upper
// bound; if it is the baseline, a lower one; if both, it says nothing.
void add_comparison(Digest& run, const Digest* baseline, const std::string& name) {
  Json& row = run.row;
  const std::string speed_up = "speed_up_over_" + name;
  if (baseline != nullptr && baseline->row.at("hold") != row.at("hold")) {
    row["warnings"].push_back(
        fmt::format("{} counts a target as held after {} evaluations and this run after {}, so they are not "
                    "compared; give both the same with --hold",
                    name, baseline->row.at("hold").dump(), row.at("hold").dump()));
    baseline = nullptr;
  }
  row["baseline_" + name] = baseline == nullptr ? Json(nullptr) : baseline->row.at("run_id");
  const bool reached = row.at("reached") == true;
  const bool they_reached = baseline != nullptr && baseline->row.at("reached") == true;
  const bool is_comparable = baseline != nullptr && (reached || they_reached);
  const auto add = [&](const std::string& ratio, const char* value, bool is_inverse = false) {
    Json result = nullptr;
    if (is_comparable) {
      const Json& own = row.at(value);
      const Json& theirs = baseline->row.at(value);
      result = is_inverse ? quotient(own, theirs) : quotient(theirs, own);
    }
    row[ratio] = reached ? result : Json(nullptr);
    row["restricted_" + ratio] = they_reached ? result : Json(nullptr);
  };
  add(speed_up, "restricted_time_to_accuracy_s");
  add(speed_up + "_with_set_up", "restricted_time_to_accuracy_with_set_up_s");
  add("relative_time_to_" + name, "restricted_time_to_accuracy_s", true);
  add("convergence_speed_over_" + name, "restricted_iterations_to_target");
  row[speed_up + "_is_lower_bound"] = is_comparable && !they_reached;
  row[speed_up + "_is_upper_bound"] = is_comparable && !reached;
  row[speed_up + "_fidelity"] = nullptr;
  if (!is_comparable || row.at("status") != "completed") return;
  row[speed_up + "_fidelity"] = worse_verdict(row.at("fidelity"), baseline->row.at("fidelity"));
  if (!run.measured_by.empty() && !baseline->measured_by.empty() &&
      run.measured_by != baseline->measured_by) {
    row["warnings"].push_back(fmt::format("{} was measured by another machine or program: {}; this run: {}",
                                          name, baseline->measured_by, run.measured_by));
  }
}

}  // namespace

std::vector<std::string> baseline_names(const std::vector<std::string>& over) {
  std::vector<std::string> names(std::begin(baseline_methods), std::end(baseline_methods));
  for (const std::string& name : over) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

Json take_rows(std::vector<Digest>& digests, const std::vector<std::string>& over) {
  const Baselines baselines(digests);
  const std::vector<std::string> names = baseline_names(over);
  std::vector<NamedBaseline> named;
  for (std::size_t i = std::size(baseline_methods); i < names.size(); ++i)
    named.emplace_back(digests, names[i]);
  for (Digest& digest : digests) {
    if (digest.row.at("target").is_null()) continue;
    for (const char* method : baseline_methods)
      add_comparison(digest, baselines.find(digest, method), method);
    for (std::size_t i = 0; i < named.size(); ++i)
      add_comparison(digest, named[i].find(digest), names[std::size(baseline_methods) + i]);
  }
  Json rows = Json::array();
  for (Digest& digest : digests) rows.push_back(std::move(digest.row));
  return rows;
}

}  // namespace thinpipe
