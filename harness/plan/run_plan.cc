// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/run_plan.hh"

#include <map>
#include <set>
#include <utility>

#include "harness/plan/checked_runs.hh"
#include "harness/plan/run_id.hh"
#include "harness/plan/run_labels.hh"

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
    run.labels = labels_of_convergence(replay);
    run.label = label_of(run.labels);
    run.workers = replay.workers;
    run.leaves_trace = true;
    run.collective = collective_without_network;
    run.reduction_tree = replay.reduction_tree;
    run.setting = setting(run.workers, run.reduction_tree);
    run.training = without_network(replay.training);
    run.missing = replay.missing;
    run.folder = replay.folder;
    return run;
  }

 private:
  std::shared_ptr<const Setting> setting(std::int64_t workers, const std::vector<int>& sum_tree) {
    auto& known = settings_[{workers, sum_tree}];
    if (known) return known;
    Setting setting{.config = {{"mode", "converge"}, {"workers", workers}}, .topology = {}};
    if (!sum_tree.empty()) setting.config["reduction_tree"] = sum_tree;
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
  // Adds the run of a point of the experiment. Returns false if it is there already, with another `hold`.
  bool add(Run run) {
    Run* const former = find(run.id);
    if (!named_.insert(run.id).second)
      return former->training->config.value("hold", Json()) == run.training->config.value("hold", Json());
    if (former != nullptr) {
      former->labels = run.labels;
      former->label = run.label;
      former->training = run.training;  // which may have another `hold` than that of its replay
    } else {
      append(std::move(run));
    }
    return true;
  }

  // Adds the convergence run of a replay. It keeps only the labels that all its replays share.
  void add_convergence(Run run) {
    Run* const former = find(run.id);
    if (former == nullptr) return append(std::move(run));
    former->leaves_trace = true;
    if (named_.contains(run.id)) return;
    keep_shared(former->labels, run.labels);
    former->label = label_of(former->labels);
  }

  std::vector<Run> take() { return std::move(runs_); }

 private:
  Run* find(const std::string& id) {
    const auto found = index_of_.find(id);
    return found == index_of_.end() ? nullptr : &runs_[found->second];
  }

  void append(Run run) {
    index_of_.emplace(run.id, runs_.size());
    runs_.push_back(std::move(run));
  }

  std::vector<Run> runs_;
  std::map<std::string, std::size_t> index_of_;
  std::set<std::string> named_;  // of points of the experiment
};

}  // namespace

std::vector<Run> plan_runs(const Experiment& experiment, const TrainerProgram& trainer,
                           const std::string& only) {
  Names names;
  ConvergenceRuns convergence_runs;
  DistinctRuns distinct;
  for (Run& run : read_checked_runs(experiment, trainer, only)) {
    if (run.is_replay()) {
      Run convergence = convergence_runs.of(run);
      convergence.id = names.of(convergence);
      run.convergence_run = convergence.id;
      distinct.add_convergence(std::move(convergence));
    }
    run.id = names.of(run);
    if (!distinct.add(std::move(run)))
      throw InputError(
          {experiment.file, "/sweep"},
          "has points that differ only in \"hold\", which decides how a curve is read, not what it "
          "is: they are one run; leave it out of the sweep, and give it to `thinpipe report --hold`");
  }
  return matching(distinct.take(), only);
}

void require_all_here(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    if (!run.missing.empty()) throw run.missing.front();
  }
}

}  // namespace thinpipe
