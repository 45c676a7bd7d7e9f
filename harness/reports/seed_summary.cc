// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/seed_summary.hh"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/support/parallel.hh"
#include "harness/reports/bootstrap.hh"
#include "harness/reports/verdicts.hh"

namespace thinpipe {
namespace {

const char* const quantities[] = {"time_to_accuracy_s",
                                  "restricted_time_to_accuracy_s",
                                  "set_up_s",
                                  "time_to_accuracy_with_set_up_s",
                                  "restricted_time_to_accuracy_with_set_up_s",
                                  "first_touch_s",
                                  "iterations_to_target",
                                  "restricted_iterations_to_target",
                                  "final_accuracy",
                                  "final_level",
                                  "bottleneck_wire_bytes",
                                  "bottleneck_utilisation",
                                  "payload_bytes_per_iteration",
                                  "effective_density",
                                  "iteration_time_s",
                                  "iterations_per_s",
                                  "vnmse"};
const char* const measured_ratios[] = {"measured_over_predicted"};

using Rows = std::vector<const Json*>;

Rows completed(const Rows& rows) {
  Rows out;
  std::ranges::copy_if(rows, std::back_inserter(out),
                       [](const Json* row) { return row->at("status") == "completed"; });
  return out;
}

// Returns each of these members of the runs that have a number there. An object stands for its mean.
// Visits each row once: a report's rows do not fit into the processor's caches.
std::vector<std::vector<double>> values_of(const Rows& rows, const std::vector<std::string>& names) {
  std::vector<std::vector<double>> values(names.size());
  for (const Json* const row : rows) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto found = row->find(names[i]);
      if (found == row->end()) continue;
      const Json& value = found->is_object() ? found->at("mean") : *found;
      if (value.is_number()) values[i].push_back(value.get<double>());
    }
  }
  return values;
}

// Returns the number of rows with this value.
std::int64_t count(const Rows& rows, const std::string& name, const Json& wanted) {
  return std::ranges::count_if(rows, [&](const Json* row) {
    const auto found = row->find(name);
    return found != row->end() && *found == wanted;
  });
}

Json labels_without_seed(const Json& row) {
  Json labels = row.at("labels");
  labels.erase("seed");
  return labels;
}

Json run_ids_of(const Rows& rows) {
  Json ids = Json::array();
  for (const Json* const row : rows) ids.push_back(row->at("run_id"));
  return ids;
}

std::vector<std::string> ratio_names(const std::vector<std::string>& baselines) {
  std::vector<std::string> names(std::begin(measured_ratios), std::end(measured_ratios));
  for (const std::string& baseline : baselines) {
    for (const char* const prefix : {"", "restricted_"}) {
      names.push_back(fmt::format("{}speed_up_over_{}", prefix, baseline));
      names.push_back(fmt::format("{}speed_up_over_{}_with_set_up", prefix, baseline));
      names.push_back(fmt::format("{}convergence_speed_over_{}", prefix, baseline));
    }
  }
  return names;
}

// Returns the summary of the values' inverses.
Json inverse(const Json& ratios) {
  const auto over = [](const Json& value) {
    return value.is_number() ? Json(1 / value.get<double>()) : Json(nullptr);
  };
  return {{"count", ratios.at("count")},
          {"mean", over(ratios.at("mean"))},
          {"standard_deviation", ratios.at("standard_deviation")},
          {"ci95_low", over(ratios.at("ci95_high"))},
          {"ci95_high", over(ratios.at("ci95_low"))}};
}

Json summary_of(const Rows& rows, const std::vector<std::string>& baselines) {
  const Json& first = *rows.front();
  const Rows measured = completed(rows);
  Json out = {{"experiment", first.at("experiment")},
              {"label", label_without_seed(first)},
              {"labels", labels_without_seed(first)},
              {"group", first.at("group")},
              {"mode", first.at("mode")},
              {"target", first.at("target")},
              {"hold", first.value("hold", Json(nullptr))},
              {"run_ids", run_ids_of(rows)},
              {"runs", rows.size()},
              {"completed", measured.size()},
              {"failed", count(rows, "status", "failed")},
              {"reached", count(rows, "reached", true)},
              {"judged", count(rows, "fidelity", "faithful") + count(rows, "fidelity", "degraded")},
              {"degraded", count(rows, "fidelity", "degraded")},
              {"not_judged", count(rows, "fidelity", "not judged")}};
  const std::vector<std::string> names(std::begin(quantities), std::end(quantities));
  const std::vector<std::string> ratios = ratio_names(baselines);
  std::vector<std::string> all = names;
  all.insert(all.end(), ratios.begin(), ratios.end());
  const std::vector<std::vector<double>> values = values_of(measured, all);
  for (std::size_t i = 0; i < all.size(); ++i)
    out[all[i]] = i < names.size() ? summarise(values[i]) : summarise_ratios(values[i]);
  for (const std::string& baseline : baselines) {
    for (const char* const prefix : {"", "restricted_"})
      out[fmt::format("{}relative_time_to_{}", prefix, baseline)] =
          inverse(out.at(fmt::format("{}speed_up_over_{}", prefix, baseline)));
    for (const char* const end : {"lower", "upper"}) {
      const std::string bound = fmt::format("speed_up_over_{}_is_{}_bound", baseline, end);
      out[bound] = count(rows, bound, true) > 0;
    }
    const std::string fidelity = fmt::format("speed_up_over_{}_fidelity", baseline);
    Json worst = nullptr;
    for (const Json* const row : rows) worst = worse_verdict(worst, row->value(fidelity, Json(nullptr)));
    out[fidelity] = std::move(worst);
  }
  return out;
}

// Returns whether the member is the summary of speed-ups whose mean is no bound: it has an interval.
bool has_interval_of_ratios(const Json& group, const std::string& name) {
  const auto is_bound = [&](const char* end) { return group.value(name + "_is_" + end + "_bound", false); };
  return name.starts_with("speed_up_over_") && !name.ends_with("_with_set_up") &&
         group.at(name).is_object() && !is_bound("lower") && !is_bound("upper");
}

constexpr std::string_view label_separator = ", ";

std::vector<std::string> parts_of(std::string_view label) {
  std::vector<std::string> parts;
  for (std::size_t end = label.find(label_separator); end != std::string_view::npos;
       end = label.find(label_separator)) {
    parts.emplace_back(label.substr(0, end));
    label.remove_prefix(end + label_separator.size());
  }
  parts.emplace_back(label);
  return parts;
}

}  // namespace

std::string label_without_seed(const Json& row) {
  auto label = row.at("label").get<std::string>();
  const Json& labels = row.at("labels");
  if (!labels.contains("seed")) return label;
  const auto seed = labels.at("seed").get<std::string>();
  if (label == seed) return "base";
  // A label joins those of the axes, in their order. Only a whole part can be the seed; of several, a repeated
  // experiment's seed is the last.
  std::vector<std::string> parts = parts_of(label);
  if (const auto found = std::find(parts.rbegin(), parts.rend(), seed); found != parts.rend())
    parts.erase(std::next(found).base());
  return fmt::format("{}", fmt::join(parts, label_separator));
}

Json summarise(const std::vector<double>& values) {
  Json out = {{"count", values.size()},
              {"mean", nullptr},
              {"standard_deviation", nullptr},
              {"ci95_low", nullptr},
              {"ci95_high", nullptr}};
  if (values.empty()) return out;
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  out["mean"] = mean;
  if (values.size() < 2) return out;
  const double squares = std::accumulate(values.begin(), values.end(), 0.0, [mean](double sum, double value) {
    return sum + (value - mean) * (value - mean);
  });
  out["standard_deviation"] = std::sqrt(squares / (n - 1));
  const Interval interval = bootstrap_mean(values);
  out["ci95_low"] = interval.low;
  out["ci95_high"] = interval.high;
  return out;
}

Json summarise_ratios(const std::vector<double>& ratios) {
  std::vector<double> logarithms(ratios.size());
  std::ranges::transform(ratios, logarithms.begin(), [](double ratio) { return std::log(ratio); });
  Json out = summarise(logarithms);
  for (const char* const name : {"mean", "standard_deviation", "ci95_low", "ci95_high"}) {
    if (out[name].is_number()) out[name] = std::exp(out[name].get<double>());
  }
  return out;
}

std::string spread_note(const Json& groups) {
  std::map<std::size_t, int> coverages;
  const auto add = [&coverages](const Json& seeds) {
    const auto count = seeds.get<std::size_t>();
    if (const auto percent = coverage_percent(count)) coverages.emplace(count, *percent);
  };
  for (const Json& group : groups) {
    add(group.at("completed"));
    for (const auto& [name, summary] : group.items()) {  // some runs may have no baseline
      if (has_interval_of_ratios(group, name)) add(summary.at("count"));
    }
  }
  std::string out = "[low, high]: 95 % confidence interval of the mean over seeds (bootstrap, percentiles)";
  for (const auto& [seeds, percent] : coverages) {
    out += seeds == coverages.begin()->first
               ? fmt::format("; with {} seeds it covers the true mean in about {} % of cases", seeds, percent)
               : fmt::format(", with {} in {} %", seeds, percent);
  }
  return out + ".";
}

std::string seed_group_of(const Json& row) {
  return Json{row.at("experiment"), row.at("group"), row.at("target"), row.value("hold", Json())}.dump();
}

Json summarise_seeds(const Json& rows, const std::vector<std::string>& baselines) {
  std::unordered_map<std::string, std::size_t> index_of_group;
  std::vector<Rows> groups;
  for (const Json& row : rows) {
    const auto [found, is_new] = index_of_group.try_emplace(seed_group_of(row), groups.size());
    if (is_new) groups.emplace_back();
    groups[found->second].push_back(&row);
  }
  std::vector<Json> out(groups.size());
  in_parallel(groups.size(), [&](std::size_t i) { out[i] = summary_of(groups[i], baselines); });
  return out;
}

Json with_several_runs(const Json& groups) {
  Json out = Json::array();
  for (const Json& group : groups) {
    if (group.at("runs") > 1) out.push_back(group);
  }
  return out;
}

}  // namespace thinpipe
