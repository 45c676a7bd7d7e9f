// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/run_labels.hh"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

namespace thinpipe {
namespace {

// The labels that all replays of a convergence run share, by the number of its training.
class SharedLabels {
 public:
  void add(std::size_t training, const Labels& labels) {
    const auto [shared, is_new] = shared_.try_emplace(training, labels);
    if (!is_new) keep_shared(shared->second, labels);
  }

  const Labels& of(std::size_t training) const { return shared_.at(training); }

 private:
  std::map<std::size_t, Labels> shared_;
};

// "a; b; c", or "a; b; …; and 7 more"
std::string listed(const std::vector<std::string>& names, const char* separator) {
  constexpr std::size_t most = 12;
  if (names.size() <= most) return fmt::format("{}", fmt::join(names, separator));
  return fmt::format("{}{}and {} more", fmt::join(names.begin(), names.begin() + most, separator), separator,
                     names.size() - most);
}

// Names the first runs, and of a sweep every axis with its first values.
InputError no_match(const std::vector<Run>& runs, const std::string& pattern) {
  std::vector<std::string> labels;
  std::vector<std::pair<std::string, std::vector<std::string>>> axes;
  for (const Run& run : runs) {
    labels.push_back(run.label);
    for (const auto& [name, value] : run.labels) {
      auto axis = std::ranges::find(axes, name, [](const auto& each) { return each.first; });
      if (axis == axes.end()) axis = axes.insert(axis, {name, {}});
      if (std::ranges::find(axis->second, value) == axis->second.end()) axis->second.push_back(value);
    }
  }
  std::string text = fmt::format("matches no run; the runs are: {}", listed(labels, "; "));
  if (axes.size() == 1) axes.clear();  // its values are the labels
  for (const auto& [name, values] : axes) text += fmt::format("\n  {}: {}", name, listed(values, ", "));
  return InputError({"--only " + pattern, ""}, text);
}

}  // namespace

Labels labels_of_convergence(const Run& replay) {
  Labels labels;
  std::ranges::copy_if(replay.labels, std::back_inserter(labels),
                       [](const auto& label) { return label.first != "mode"; });
  return labels;
}

void keep_shared(Labels& labels, const Labels& others) {
  std::erase_if(labels,
                [&others](const auto& label) { return std::ranges::find(others, label) == others.end(); });
}

bool matches(const Labels& labels, const std::string& pattern) {
  const auto is_meant = [&pattern](const std::string& text) {
    return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
  };
  return is_meant(label_of(labels)) || std::ranges::any_of(labels, is_meant, &Labels::value_type::second);
}

std::vector<bool> needed_for(const std::vector<Run>& runs, const std::vector<UncheckedTraining>& trainings,
                             const std::string& pattern) {
  std::vector<bool> needed(runs.size(), true);
  if (pattern.empty()) return needed;
  // Only the check tells whether replays over different collectives share a convergence run.
  SharedLabels of_config;
  SharedLabels of_all_collectives;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i].is_replay()) continue;
    of_config.add(trainings[i].config, labels_of_convergence(runs[i]));
    of_all_collectives.add(trainings[i].but_for_collective, labels_of_convergence(runs[i]));
  }
  const auto is_meant = [&](std::size_t i) {
    if (matches(runs[i].labels, pattern)) return true;
    return runs[i].is_replay() && (matches(of_config.of(trainings[i].config), pattern) ||
                                   matches(of_all_collectives.of(trainings[i].but_for_collective), pattern));
  };
  std::set<std::size_t> meant;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (is_meant(i)) meant.insert(trainings[i].but_for_collective);
  }
  if (meant.empty()) throw no_match(runs, pattern);
  for (std::size_t i = 0; i < runs.size(); ++i) needed[i] = meant.contains(trainings[i].but_for_collective);
  return needed;
}

std::vector<Run> matching(std::vector<Run> runs, const std::string& pattern) {
  if (pattern.empty()) return runs;
  std::set<std::string> needed;
  for (const Run& run : runs) {
    if (matches(run.labels, pattern)) needed.insert({run.id, run.convergence_run});
  }
  if (needed.empty()) throw no_match(runs, pattern);
  std::erase_if(runs, [&needed](const Run& run) { return !needed.contains(run.id); });
  return runs;
}

}  // namespace thinpipe
