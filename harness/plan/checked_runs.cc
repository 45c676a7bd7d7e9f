// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/checked_runs.hh"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "common/support/nearest.hh"
#include "common/support/units.hh"
#include "harness/experiment/merge.hh"
#include "harness/plan/bucket_sizes.hh"
#include "harness/plan/collective_choices.hh"
#include "harness/plan/controller_options.hh"
#include "harness/plan/run_config.hh"
#include "harness/plan/run_labels.hh"
#include "harness/plan/script_content.hh"
#include "harness/plan/training_command.hh"

namespace thinpipe {
namespace {

// Adds suggestions from the harness's keys to an error about an unknown key: the trainer has only its own.
std::string with_controller_option_keys(const Remark& wrong) {
  const std::vector<std::string> keys = pointer_keys(wrong.pointer);
  const bool unknown_key = keys.size() == 1 && wrong.message.starts_with("unknown key");
  if (!unknown_key || wrong.message.find("did you mean") != std::string::npos) return wrong.message;
  return fmt::format("unknown key \"{}\"{}; from the trainer: {}", keys[0],
                     suggestion(keys[0], controller_option_keys()), wrong.message);
}

constexpr auto automatic_size = "auto";  // of buckets

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

  Run read_setting(const Point& point, const Json& controller_part) {
    const auto [known, is_new] = settings_.try_emplace(controller_part.dump());
    if (is_new) known->second = read_controller_part(controller_part, topologies_);
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

// Numbers texts in the order in which they are first added.
class Numbers {
 public:
  std::size_t of(const std::string& text) {
    return numbers_.try_emplace(text, numbers_.size()).first->second;
  }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
};

// The runs of all points, and the configurations of their trainings, which nobody has checked yet.
struct UncheckedRuns {
  std::vector<Run> runs;
  std::vector<UncheckedTraining> trainings;  // of each run
  std::vector<std::string> configs;          // each once, by UncheckedTraining::config
};

UncheckedRuns read_unchecked(const std::vector<Point>& points, const std::string& file) {
  Reader reader(file);
  Numbers configs;
  Numbers but_for_collective;
  UncheckedRuns out;
  const auto read = [&](const Point& point) {
    Json config = point.config();
    const Json controller_part = take_controller_part(config);
    out.runs.push_back(reader.read_setting(point, controller_part));
    Run& run = out.runs.back();
    if (run.runs_command()) run.training = std::make_shared<const CheckedConfig>(training_of_command(config));
    Json training = training_part(std::move(config), run, reader.folder());
    std::string text = training.dump();
    training.erase("collective");
    out.trainings.push_back(
        {.config = configs.of(text), .but_for_collective = but_for_collective.of(training.dump())});
    if (out.trainings.back().config == out.configs.size()) out.configs.push_back(std::move(text));
  };
  for (const Point& point : points) located(point, [&] { read(point); });
  return out;
}

// Has the trainer check each configuration once, however many runs have it.
class Checks {
 public:
  Checks(const TrainerProgram& trainer, const std::vector<Point>& points)
      : trainer_(trainer), checker_(trainer), points_(points) {}

  // Has the trainer check `next` as soon as it has checked `present`, which complete() will ask about first. Does
  // nothing if `present` may get another size of buckets: the trainer then checks it once more, and keeps its
  // model in memory only until it sees another configuration.
  void look_ahead(const std::string& present, const std::string& next) {
    if (present.find(fmt::format("\"size\":\"{}\"", automatic_size)) != std::string::npos) return;
    ask(present);
    ask(next);
  }

  // Checks the training of the run of that point, and decides what it leaves open.
  void complete(Run& run, std::size_t point, const std::string& config) {
    set_training(run, point, config);
    check_mode(run, point);
    if (run.external_trainer.hook) check_hook(run, point);
    collectives_.resolve(run);
    // Checks the configuration with a bucket size next, while the trainer still has the model in memory.
    if (const auto config_with_size = choose_bucket_size(run)) set_training(run, point, *config_with_size);
  }

 private:
  void set_training(Run& run, std::size_t point, const std::string& config) {
    if (!answers_.contains(config)) answers_[config] = check(config, points_[point]);
    run.training = answers_.at(config);
    run.missing.clear();
    for (const Remark& missing : run.training->missing)
      run.missing.emplace_back(points_[point].place_of(missing.pointer), missing.message);
  }

  void check_mode(const Run& run, std::size_t point) {
    const Json& plan = run.training->plan;
    if (run.trains_in_real_time() || plan.is_null() || !plan.value("senses_network", false)) return;
    throw InputError(
        points_[point].place_of("/synchroniser/name"),
        fmt::format(
            "{} works only in mode \"live\" or \"cluster\": what it sends depends on the network that it meets",
            run.training->config.at("synchroniser").at("name").dump()));
  }

  void check_hook(const Run& run, std::size_t point) {
    const std::string synchroniser =
        run.training->config.value(Json::json_pointer("/synchroniser/name"), "dense");
    if (synchroniser != "dense") {
      throw InputError(
          points_[point].place_of("/synchroniser"),
          fmt::format("has no effect beside trainer.hook, which exchanges the gradients; remove it, or "
                      "set it to dense in the patch with the hook, but it is {}",
                      synchroniser));
    }
    const CommunicationHook& hook = *run.external_trainer.hook;
    const Json description = to_json(hook);
    const auto [known, is_new] = hooks_.try_emplace(description.dump());
    if (is_new) known->second = trainer_.check_hook(description);
    if (!known->second) return;
    const Place place = place_in(hook, {"", "/trainer/hook"}, known->second->pointer);
    throw InputError(points_[point].place_of(place.pointer), known->second->message);
  }

  // Asks the trainer unless it has answered or will.
  void ask(const std::string& config) {
    if (answers_.contains(config) || std::ranges::find(asked_, config) != asked_.end()) return;
    checker_.ask(config);
    asked_.push_back(config);
  }

  std::shared_ptr<const CheckedConfig> check(const std::string& config, const Point& point) {
    ask(config);
    CheckedConfig answer = checker_.answer();
    asked_.pop_front();
    if (!answer.ok)
      throw InputError(point.place_of(answer.wrong.pointer), with_controller_option_keys(answer.wrong));
    located(point, [&] { script_content_.add_to(answer.content, answer.config); });
    return std::make_shared<const CheckedConfig>(std::move(answer));
  }

  // Returns the configuration with a bucket size if it has "auto" and a link is capped; otherwise nullopt.
  static std::optional<std::string> choose_bucket_size(const Run& run) {
    static const Json::json_pointer place("/buckets/size");
    const Json& config = run.training->config;
    if (run.training->plan.is_null() || !config.contains(place) || config.at(place) != automatic_size)
      return {};
    const auto bytes = suitable_bucket_bytes(run);
    if (!bytes) return {};
    Json chosen = config;
    chosen[place] = format_quantity(Quantity::size, static_cast<double>(*bytes));
    return chosen.dump();
  }

  const TrainerProgram& trainer_;
  ConfigChecker checker_;
  std::deque<std::string> asked_;  // the configurations that it has not answered yet, at most two
  std::unordered_map<std::string, std::optional<Remark>> hooks_;
  ScriptContent script_content_;
  CollectiveChoices collectives_;
  const std::vector<Point>& points_;
  std::unordered_map<std::string, std::shared_ptr<const CheckedConfig>> answers_;
};

}  // namespace

std::vector<Run> read_checked_runs(const Experiment& experiment, const TrainerProgram& trainer,
                                   const std::string& pattern) {
  const std::vector<Point> points = expand(experiment);
  Checks checks(trainer, points);  // the trainer starts while the points are read
  auto [runs, trainings, configs] = read_unchecked(points, experiment.file);
  const std::vector<bool> needed = needed_for(runs, trainings, pattern);
  // Runs with the same configuration follow each other, with all their sizes of buckets. A script's command
  // brings its own.
  std::vector<std::vector<std::size_t>> runs_of(configs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (needed[i] && !runs[i].runs_command()) runs_of[trainings[i].config].push_back(i);
  }
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const bool both_train = i + 1 < configs.size() && !runs_of[i].empty() && !runs_of[i + 1].empty();
    if (both_train) checks.look_ahead(configs[i], configs[i + 1]);
    for (const std::size_t run : runs_of[i]) checks.complete(runs[run], run, configs[i]);
  }
  std::vector<Run> out;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (needed[i]) out.push_back(std::move(runs[i]));
  }
  return out;
}

}  // namespace thinpipe
