#include "harness/plan/run_plan.hh"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

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

// Computes run ids. Makes the text of a setting or a training once for all runs that share it.
class Names {
 public:
  std::string of(const Run& run) {
    MemberTexts decisive = texts(run.training);
    const MemberTexts& setting = texts(run.setting);
    decisive.insert(setting.begin(), setting.end());
    return run_id_of(decisive);
  }

 private:
  template <class Part>
  const MemberTexts& texts(const std::shared_ptr<const Part>& part) {
    const auto [entry, is_new] = texts_.try_emplace(part);
    if (is_new) entry->second = member_texts(decisive_part(part->config, part->content));
    return entry->second;
  }

  std::map<std::shared_ptr<const void>, MemberTexts> texts_;
};

// Makes the convergence runs of replays: the same training without a network, with its communication
// recorded. If the collectives use a reduction tree, the result is the same to the bit.
class ConvergenceRuns {
 public:
  Run of(const Run& replay) {
    Run run;
    run.mode = Mode::converge;
    std::ranges::copy_if(replay.labels, std::back_inserter(run.labels),
                         [](const auto& label) { return label.first != "mode"; });
    run.label = label_of(run.labels);
    run.workers = replay.workers;
    run.leaves_trace = true;
    run.sum_tree = replay.tree();
    run.setting = setting(run.workers, run.sum_tree);
    run.training = without_network(replay.training);
    run.missing = replay.missing;
    return run;
  }

 private:
  std::shared_ptr<const Setting> setting(std::int64_t workers, const std::vector<int>& sum_tree) {
    auto& known = settings_[{workers, sum_tree}];
    if (known) return known;
    Setting setting{.config = {{"mode", "converge"}, {"workers", workers}}, .topology = {}};
    if (!sum_tree.empty()) setting.config["sum_tree"] = sum_tree;
    setting.topology.kind = netem::TopologyKind::loopback;
    return known = std::make_shared<const Setting>(std::move(setting));
  }

  // Removes the replay's collective, because a convergence run has no network.
  std::shared_ptr<const CheckedConfig> without_network(const std::shared_ptr<const CheckedConfig>& training) {
    auto& known = trainings_[training];
    if (known) return known;
    CheckedConfig changed = *training;
    const auto collective = changed.config.find("collective");
    if (collective != changed.config.end()) {
      (*collective)["name"] = collective_without_network;
      collective->erase("all_reduce");  // an option of nccl only
    }
    return known = std::make_shared<const CheckedConfig>(std::move(changed));
  }

  std::map<std::pair<std::int64_t, std::vector<int>>, std::shared_ptr<const Setting>> settings_;
  std::map<std::shared_ptr<const CheckedConfig>, std::shared_ptr<const CheckedConfig>> trainings_;
};

// The runs of a plan, each once.
class DistinctRuns {
 public:
  // Adds the run of a point of the experiment.
  void add(Run run) {
    if (!named_.insert(run.id).second) return;
    if (Run* const former = find(run.id)) {
      former->labels = run.labels;
      former->label = run.label;
    } else {
      append(std::move(run));
    }
  }

  // Adds the convergence run of a replay. It keeps only the labels that all its replays share.
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
  std::set<std::string> named_;  // of points of the experiment
};

// Adds suggestions from the harness's keys to an error about an unknown key: the trainer has only its own.
std::string with_harness_keys(const Remark& wrong) {
  const std::vector<std::string> keys = pointer_keys(wrong.pointer);
  const bool unknown_key = keys.size() == 1 && wrong.message.starts_with("unknown key");
  if (!unknown_key || wrong.message.find("did you mean") != std::string::npos) return wrong.message;
  return fmt::format("unknown key \"{}\"{}; from the trainer: {}", keys[0],
                     suggestion(keys[0], harness_keys()), wrong.message);
}

// An InputError about the merged configuration becomes one about the user's file.
template <class Action>
auto located(const Point& point, const Action& action) {
  try {
    return action();
  } catch (const InputError& error) {
    if (!error.place().file.empty()) throw;  // it is in another file, such as a topology
    throw InputError(point.place_of(error.place().pointer), error.message());
  }
}

// Reads each setting once, however many points have it.
class Reader {
 public:
  explicit Reader(const std::string& file) : topologies_(file) {}

  Run read_setting(const Point& point, const Json& harness_part) {
    const auto [known, is_new] = settings_.try_emplace(harness_part.dump());
    if (is_new) known->second = read_harness_part(harness_part, topologies_);
    Run run = known->second;
    run.labels = point.labels;
    run.label = point.label();
    for (netem::NetworkEvent& event : run.schedule.events) event.place = point.place_of(event.place.pointer);
    for (WorkerEvent& event : run.worker_events) event.place = point.place_of(event.place.pointer);
    return run;
  }

  const std::filesystem::path& folder() const { return topologies_.folder(); }

 private:
  Topologies topologies_;
  std::unordered_map<std::string, Run> settings_;  // by the harness's part of the configuration
};

// Has the trainer check each configuration once, however many runs have it.
class Questions {
 public:
  void add(std::size_t run, const Json& training_config) {
    const auto [place, is_new] = places_.try_emplace(training_config.dump(), askers_.size());
    if (is_new) {
      texts_.push_back(place->first);
      askers_.emplace_back();
    }
    askers_[place->second].push_back(run);
  }

  // Sets the runs' trainings from the trainer's answers.
  void put(const TrainerProgram& trainer, const std::vector<Point>& points, std::vector<Run>& runs) const {
    if (texts_.empty()) return;
    std::vector<CheckedConfig> answers = trainer.check(texts_);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      CheckedConfig& answer = answers[i];
      if (!answer.ok) {
        throw InputError(points[askers_[i].front()].place_of(answer.wrong.pointer),
                         with_harness_keys(answer.wrong));
      }
      const auto training = std::make_shared<const CheckedConfig>(std::move(answer));
      for (const std::size_t run : askers_[i]) {
        runs[run].training = training;
        runs[run].missing.clear();
        for (const Remark& missing : training->missing)
          runs[run].missing.emplace_back(points[run].place_of(missing.pointer), missing.message);
      }
    }
  }

 private:
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<std::string> texts_;
  std::vector<std::vector<std::size_t>> askers_;
};

// Chooses bucket sizes that the configuration leaves to the network, from the runs' plans. Returns the
// configurations to check with these sizes.
Questions choose_bucket_sizes(const std::vector<Run>& runs) {
  static const Json::json_pointer place("/buckets/size");
  Questions questions;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Json& config = runs[i].training->config;
    if (runs[i].training->plan.is_null() || !config.contains(place) || config.at(place) != "auto") continue;
    if (const auto bytes = suitable_bucket_bytes(runs[i])) {
      Json chosen = config;
      chosen[place] = format_quantity(Quantity::size, static_cast<double>(*bytes));
      questions.add(i, chosen);
    }
  }
  return questions;
}

// Returns the runs of the points, without ids.
std::vector<Run> read_runs(const Experiment& experiment, const TrainerProgram& trainer) {
  const std::vector<Point> points = expand(experiment);
  Reader reader(experiment.file);
  std::vector<Run> runs;
  Questions questions;
  for (const Point& point : points) {
    located(point, [&] {
      Json config = point.config();
      const Json harness_part = take_harness_part(config);
      runs.push_back(reader.read_setting(point, harness_part));
      questions.add(runs.size() - 1, training_part(std::move(config), runs.back(), reader.folder()));
    });
  }
  questions.put(trainer, points, runs);
  // Plans of large models take seconds, so only those that a chosen size changes are repeated.
  choose_bucket_sizes(runs).put(trainer, points, runs);
  return runs;
}

}  // namespace

std::vector<Run> plan_runs(const Experiment& experiment, const TrainerProgram& trainer) {
  Names names;
  ConvergenceRuns convergence_runs;
  DistinctRuns distinct;
  for (Run& run : read_runs(experiment, trainer)) {
    if (run.is_replay()) {
      Run convergence = convergence_runs.of(run);
      convergence.id = names.of(convergence);
      run.convergence_run = convergence.id;
      distinct.add_convergence(std::move(convergence));
    }
    run.id = names.of(run);
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
