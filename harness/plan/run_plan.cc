#include "harness/plan/run_plan.hh"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include "common/support/nearest.hh"
#include "common/support/units.hh"
#include "harness/experiment/merge.hh"
#include "harness/plan/bucket_sizes.hh"
#include "harness/plan/harness_keys.hh"
#include "harness/plan/run_id.hh"
#include "harness/plan/run_reading.hh"

namespace thinpipe {
namespace {

// Sets what a run is known by, its configuration being whole.
void identify(Run& run, const Json& content) {
  run.decisive = decisive_part(run.config, content);
  run.id = run_id_of(run.decisive);
  run.id_is_final = std::ranges::none_of(content, [](const Json& hash) { return hash.is_null(); });
}

// Where the experiment's network is not there, what would carry its bytes over that says nothing.
Json without_network(Json training_config) {
  const auto collective = training_config.find("collective");
  if (collective != training_config.end()) {
    (*collective)["name"] = collective_without_network;
    collective->erase("all_reduce");  // nccl's alone
  }
  return training_config;
}

// The same training without a network, its communication recorded. Where its collectives go along a tree, it
// is the same to the bit.
Run convergence_run_of(const Run& replay, const Json& content) {
  Run run;
  run.mode = Mode::converge;
  run.topology.kind = netem::TopologyKind::loopback;
  std::ranges::copy_if(replay.labels, std::back_inserter(run.labels),
                       [](const auto& label) { return label.first != "mode"; });
  run.label = label_of(run.labels);
  run.workers = replay.workers;
  run.training_config = without_network(replay.training_config);
  run.plan = replay.plan;
  run.missing = replay.missing;
  run.leaves_trace = true;
  run.sum_tree = replay.tree();
  run.config = {{"mode", "converge"}, {"workers", run.workers}};
  if (!run.sum_tree.empty()) run.config["sum_tree"] = run.sum_tree;
  run.config.update(run.training_config);
  identify(run, content);
  return run;
}

// The runs of a plan, each once.
class DistinctRuns {
 public:
  // A point of the experiment.
  void add(Run run) {
    if (!named_.insert(run.id).second) return;
    if (Run* const former = find(run.id)) {
      former->labels = run.labels;
      former->label = run.label;
    } else {
      append(std::move(run));
    }
  }

  // What a replay needs. Labels that tell replays of one training apart say nothing of it.
  void add_convergence(Run run) {
    Run* const former = find(run.id);
    if (former == nullptr) return append(std::move(run));
    former->leaves_trace = true;
    if (named_.contains(run.id)) return;
    std::erase_if(former->labels, [&run](const auto& label) {
      return std::ranges::find(run.labels, label) == run.labels.end();
    });
    former->label = label_of(former->labels);
  }

  std::vector<Run> take() { return std::move(runs_); }

 private:
  Run* find(const std::string& id) {
    const auto found = places_.find(id);
    return found == places_.end() ? nullptr : &runs_[found->second];
  }

  void append(Run run) {
    places_.emplace(run.id, runs_.size());
    runs_.push_back(std::move(run));
  }

  std::vector<Run> runs_;
  std::map<std::string, std::size_t> places_;
  std::set<std::string> named_;  // by the experiment
};

// The trainer knows nothing of the harness's keys: a misspelt one of those gets its suggestion here.
std::string with_harness_keys(const Remark& wrong) {
  const std::vector<std::string> keys = pointer_keys(wrong.pointer);
  const bool unknown_key = keys.size() == 1 && wrong.message.starts_with("unknown key");
  if (!unknown_key || wrong.message.find("did you mean") != std::string::npos) return wrong.message;
  return fmt::format("unknown key \"{}\"{}; and the trainer's: {}", keys[0],
                     suggestion(keys[0], harness_keys()), wrong.message);
}

// An InputError about the merged configuration becomes one about the user's file.
template <class Action>
auto located(const Point& point, const Action& action) {
  try {
    return action();
  } catch (const InputError& error) {
    if (!error.place().file.empty()) throw;  // it names a file of its own, as a topology's
    throw InputError(point.place_of(error.place().pointer), error.message());
  }
}

// Has the trainer fill in its part of the runs with these indices, their plans and CheckedConfig::content.
void check(const std::vector<std::size_t>& indices, std::vector<Run>& runs, std::vector<Json>& contents,
           const std::vector<Point>& points, const TrainerProgram& trainer) {
  std::vector<Json> training_configs;
  for (const std::size_t i : indices) training_configs.push_back(runs[i].training_config);
  std::vector<CheckedConfig> checked = trainer.check(training_configs);
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const std::size_t i = indices[k];
    if (!checked[k].ok) {
      throw InputError(points[i].place_of(checked[k].wrong.pointer), with_harness_keys(checked[k].wrong));
    }
    runs[i].training_config = std::move(checked[k].config);
    runs[i].plan = std::move(checked[k].plan);
    contents[i] = std::move(checked[k].content);
    runs[i].missing.clear();
    for (const Remark& remark : checked[k].missing)
      runs[i].missing.emplace_back(points[i].place_of(remark.pointer), remark.message);
  }
}

// Sizes that the configuration leaves to the network take a plan to choose. Returns the indices of the runs
// that got one.
std::vector<std::size_t> choose_bucket_sizes(std::vector<Run>& runs) {
  static const Json::json_pointer place("/buckets/size");
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Json& config = runs[i].training_config;
    if (runs[i].plan.is_null() || !config.contains(place) || config.at(place) != "auto") continue;
    if (const auto bytes = suitable_bucket_bytes(runs[i])) {
      config[place] = format_quantity(Quantity::size, static_cast<double>(*bytes));
      chosen.push_back(i);
    }
  }
  return chosen;
}

// Fills in the trainer's part of each run, and its plan. Returns CheckedConfig::content of each.
std::vector<Json> complete(std::vector<Run>& runs, const std::vector<Point>& points,
                           const TrainerProgram& trainer) {
  std::vector<Json> contents(runs.size());
  std::vector<std::size_t> all(runs.size());
  std::iota(all.begin(), all.end(), 0U);
  check(all, runs, contents, points, trainer);
  // A plan of a large model takes seconds: only those that a chosen size changes are made again.
  if (const auto chosen = choose_bucket_sizes(runs); !chosen.empty()) {
    check(chosen, runs, contents, points, trainer);
  }
  return contents;
}

}  // namespace

std::vector<Run> plan_runs(const Experiment& experiment, const TrainerProgram& trainer) {
  const std::vector<Point> points = expand(experiment);
  Topologies topologies(experiment.file);
  std::vector<Run> runs;
  for (const Point& point : points) {
    runs.push_back(located(point, [&] { return read_harness_part(point, topologies); }));
  }
  const std::vector<Json> contents = complete(runs, points, trainer);
  DistinctRuns distinct;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Run& run = runs[i];
    Json content = contents[i];
    run.config.update(run.training_config);
    if (run.trainer && run.other_trainer.is_own()) {
      const bool is_described = run.config.at("trainer").is_object();
      content[is_described ? "/trainer/program" : "/trainer"] = content_hash_of_file(*run.trainer);
      if (!run.other_trainer.files.empty())
        content["/trainer/files"] = content_hash_of_files(run.other_trainer, topologies.folder());
    }
    if (run.is_replay()) {
      Run convergence = convergence_run_of(run, content);
      run.convergence_run = convergence.id;
      distinct.add_convergence(std::move(convergence));
      if (run.profile) {
        const Json& written = run.config.at("compute_profile");
        content[written.is_object() ? "/compute_profile/device" : "/compute_profile"] =
            content_hash_of_file(*run.profile);
      }
    }
    if (run.mode != Mode::converge && run.plan.is_object()) run.plan["collective"] = run.collective();
    identify(run, content);
    distinct.add(std::move(run));
  }
  return distinct.take();
}

void require_all_here(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    if (!run.missing.empty()) throw run.missing.front();
  }
}

std::vector<Run> matching(std::vector<Run> runs, const std::string& pattern) {
  if (pattern.empty()) return runs;
  const auto matches = [&pattern](const std::string& text) {
    return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
  };
  const auto is_meant = [&matches](const Run& run) {
    return matches(run.label) || std::ranges::any_of(run.labels, matches, &Labels::value_type::second);
  };
  std::vector<std::string> labels;
  std::set<std::string> needed;
  for (const Run& run : runs) {
    labels.push_back(run.label);
    if (is_meant(run)) needed.insert({run.id, run.convergence_run});
  }
  std::vector<Run> out;
  for (Run& run : runs) {
    if (needed.contains(run.id)) out.push_back(std::move(run));
  }
  if (out.empty()) {
    throw InputError({"--only " + pattern, ""},
                     fmt::format("matches no run; the runs are: {}", fmt::join(labels, "; ")));
  }
  return out;
}

}  // namespace thinpipe
