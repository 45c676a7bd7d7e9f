#include "harness/run_plan.hh"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <unistd.h>

#include "harness/harness_keys.hh"
#include "harness/merge.hh"
#include "harness/prediction.hh"
#include "harness/replay/device.hh"
#include "harness/run_id.hh"
#include "harness/shipped_files.hh"
#include "harness/support/nearest.hh"
#include "netem/worker_tree.hh"

namespace thinpipe {
namespace {

// As the shipped topologies have hosts.
constexpr std::int64_t default_convergence_workers = 8;
// What the configuration of a convergence run names, whatever its replays go over: it is one run for all.
// Workers without an emulated network go over it, on the loopback.
constexpr const char* collective_without_network = "gloo";

// Loads each topology once, whatever the number of runs that use it.
class Topologies {
 public:
  explicit Topologies(const std::string& experiment_file)
      : folder_(std::filesystem::path(experiment_file).parent_path()) {}

  const netem::Topology& load(const std::string& name, const Place& place) {
    const auto cached = loaded_.find(name);
    if (cached != loaded_.end()) return cached->second;
    const std::filesystem::path path = shipped_topologies().find(name, folder_, place);
    return loaded_.emplace(name, netem::load_topology(path)).first->second;
  }

  // Where files that an experiment names by a path are sought.
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  std::map<std::string, netem::Topology> loaded_;
};

// {"rate": …} where all bottlenecks share one cap; null otherwise.
Json common_bottleneck(const netem::Topology& topology) {
  std::optional<double> rate_bit_per_s;
  for (const netem::Link& link : topology.links) {
    if (!link.bottleneck) continue;
    for (const netem::Direction& direction : {link.forward, link.backward}) {
      if (!direction.rate_bit_per_s) continue;
      if (rate_bit_per_s && *rate_bit_per_s != *direction.rate_bit_per_s) return nullptr;
      rate_bit_per_s = direction.rate_bit_per_s;
    }
  }
  return rate_bit_per_s ? Json{{"rate", format_quantity(Quantity::rate, *rate_bit_per_s)}} : Json(nullptr);
}

void apply_bottleneck(netem::Topology& topology, const Json& value, const Place& place) {
  JsonObject object(value, place);
  double rate_bit_per_s = 0;
  object.read("rate", rate_bit_per_s, {.quantity = Quantity::rate, .above = 0, .required = true});
  std::optional<double> burst_s;
  object.read("burst", burst_s, {.quantity = Quantity::duration, .above = 0});
  object.finish();
  netem::set_bottleneck_rate(topology, rate_bit_per_s, object.place_of("rate"));
  if (burst_s) netem::set_bottleneck_burst(topology, *burst_s, object.place_of("burst"));
}

// Reads what is to change during the run, and adds it to the configuration where there is something: runs
// without changes keep the identity they always had.
void read_changes(JsonObject& object, const Topologies& topologies, Run& run) {
  run.schedule = netem::read_schedule(object, run.topology, [&](const std::string& name, const Place& place) {
    return shipped_rate_traces().find(name, topologies.folder(), place).string();
  });
  if (Json events = netem::events_to_json(run.schedule); !events.is_null()) {
    run.config["network_events"] = std::move(events);
  }
  Json trace = netem::trace_to_json(run.schedule);
  if (trace.is_null()) return;
  Json steps = Json::array();
  for (const netem::RateStep& step : run.schedule.trace->trace.steps) {
    steps.push_back({step.at_s, step.rate_bit_per_s});
  }
  const auto& period_s = run.schedule.trace->trace.period_s;
  trace["steps_hash"] = content_hash(Json{steps, period_s ? Json(*period_s) : Json(nullptr)}.dump());
  run.config["rate_trace"] = std::move(trace);
}

// Likewise what is to befall workers, and what happens then.
void read_faults(JsonObject& object, Run& run) {
  run.worker_events = read_worker_events(object, run.workers);
  run.on_worker_failure = read_failure_policy(object);
  for (const WorkerEvent& event : run.worker_events) run.config["worker_events"].push_back(to_json(event));
  if (run.on_worker_failure.restarts()) {
    run.config["on_worker_failure"] = write_options(run.on_worker_failure);
  }
}

void refuse(JsonObject& object, const std::string& key, const char* why) {
  if (object.find(key) != nullptr) throw InputError(object.place_of(key), why);
}

void read_network_part(JsonObject& object, Topologies& topologies, const std::string& mode, Run& run) {
  std::string topology = "three-switch";
  object.read("topology", topology);
  run.topology = topologies.load(topology, object.place_of("topology"));
  if (const Json* bottleneck = object.find("bottleneck")) {
    apply_bottleneck(run.topology, *bottleneck, object.place_of("bottleneck"));
  }
  const auto hosts = static_cast<std::int64_t>(run.topology.hosts.size());
  run.workers = hosts;
  object.read("workers", run.workers, {.at_least = 1});
  if (run.workers > hosts) {
    throw InputError(object.place_of("workers"),
                     fmt::format("must be at most {}, the number of hosts of the topology \"{}\", but is {}",
                                 hosts, run.topology.name, run.workers));
  }
  run.config = {{"mode", mode},
                {"topology", netem::to_json(run.topology)},
                {"bottleneck", common_bottleneck(run.topology)},
                {"workers", run.workers}};
}

// A program that trains in thinpipe-trainer's place.
void read_trainer(JsonObject& object, const std::filesystem::path& folder, Run& run) {
  std::optional<std::string> name;
  object.read("trainer", name);
  if (!name) return;
  const Place place = object.place_of("trainer");
  run.trainer = std::filesystem::absolute(shipped_trainers().find(*name, folder, place));
  if (::access(run.trainer->c_str(), X_OK) != 0) {
    throw InputError(place,
                     fmt::format("the trainer {} cannot be executed: chmod +x, and a first line such as "
                                 "#!/usr/bin/env python3",
                                 run.trainer->string()));
  }
  run.config["trainer"] = *name;
}

void read_live_part(JsonObject& object, Topologies& topologies, Run& run) {
  refuse(object, "compute_profile", "is for modes \"replay\" and \"simulate\": a live run computes");
  read_network_part(object, topologies, "live", run);
  read_trainer(object, topologies.folder(), run);
  read_changes(object, topologies, run);
  read_faults(object, run);
}

void read_profile(JsonObject& object, const std::filesystem::path& folder, Run& run) {
  const Json* const value = object.find("compute_profile");
  const Place place = object.place_of("compute_profile");
  if (value == nullptr || *value == "measured") {
    run.config["compute_profile"] = "measured";
    return;
  }
  EstimateOptions options;
  if (value->is_object()) {
    options = read_options<EstimateOptions>(*value, place);
  } else {
    read_value(*value, place, {}, options.device);
  }
  run.profile = shipped_compute_profiles().find(options.device, folder, place);
  run.estimated_batch_size = options.batch_size_per_worker;
  if (run.estimated_batch_size && !is_device(parse_json_file(run.profile->string()))) {
    throw InputError(place / "batch_size_per_worker",
                     fmt::format("is for estimates: {} is no description of a device, but a profile with a "
                                 "batch of its own",
                                 run.profile->string()));
  }
  run.config["compute_profile"] = *value;
}

// What comes by the clock, or befalls workers, has no place in a training that is replayed in samples.
void read_replay_part(JsonObject& object, Topologies& topologies, const std::string& mode, Run& run) {
  run.mode = mode == "replay" ? Mode::replay : Mode::simulate;
  refuse(object, "trainer", "is for mode \"live\": what others hand to their collectives is not recorded");
  for (const char* key : {"network_events", "rate_trace", "worker_events", "on_worker_failure"}) {
    refuse(object, key, "is for mode \"live\": a replay goes through samples of a training's steps");
  }
  read_network_part(object, topologies, mode, run);
  read_profile(object, topologies.folder(), run);
}

// What a network or the clock would have to be there for is refused: it would do nothing.
void read_convergence_part(JsonObject& object, Run& run) {
  run.mode = Mode::converge;
  run.topology.kind = netem::TopologyKind::loopback;
  run.workers = default_convergence_workers;
  object.read("workers", run.workers, {.at_least = 1});
  for (const std::string& key : harness_keys()) {
    if (key == "mode" || key == "workers") continue;
    refuse(object, key,
           "is for mode \"live\": a convergence run has no network, and its workers are one process");
  }
  refuse(object, "collective", "is for modes with a network: a convergence run's workers are one process");
  run.config = {{"mode", "converge"}, {"workers", run.workers}};
}

// The harness's part of a configuration; places are pointers into the merged configuration.
Run read_harness_part(const Point& point, Topologies& topologies) {
  Run run;
  run.labels = point.labels;
  run.label = point.label();
  JsonObject object(point.config, {"", ""});
  std::string mode = "live";
  object.read("mode", mode, {.one_of = {"live", "converge", "replay", "simulate"}});
  if (mode == "live") read_live_part(object, topologies, run);
  if (mode == "converge") read_convergence_part(object, run);
  if (mode == "replay" || mode == "simulate") read_replay_part(object, topologies, mode, run);
  for (netem::NetworkEvent& event : run.schedule.events) event.place = point.place_of(event.place.pointer);
  for (WorkerEvent& event : run.worker_events) event.place = point.place_of(event.place.pointer);
  run.training_config = point.config;
  for (const std::string& key : harness_keys()) run.training_config.erase(key);
  run.training_config["workers"] = run.workers;
  if (run.mode == Mode::converge) run.training_config["collective"] = {{"name", collective_without_network}};
  return run;
}

// Sets what a run is known by, its configuration being whole.
void identify(Run& run, const Json& content) {
  run.decisive = decisive_part(run.config, content);
  run.id = run_id(run.config, content);
}

// The same training without a network, its communication recorded.
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
  run.leaves_trace = true;
  run.config = {{"mode", "converge"}, {"workers", run.workers}};
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
std::string with_harness_keys(const CheckedConfig& checked) {
  const std::vector<std::string> keys = pointer_keys(checked.pointer);
  const bool unknown_key = keys.size() == 1 && checked.message.starts_with("unknown key");
  if (!unknown_key || checked.message.find("did you mean") != std::string::npos) return checked.message;
  return fmt::format("unknown key \"{}\"{}; and the trainer's: {}", keys[0],
                     suggestion(keys[0], harness_keys()), checked.message);
}

// Whether an all-reduce takes less of the most loaded link's time along the tree than around the ring; also
// where no link is capped, since a tree has fewer hops.
bool tree_takes_less_time(const netem::Topology& topology, std::int64_t workers) {
  const SentBytes sent{.around_ring = 1};
  const auto around_ring = predict_exchange(topology, workers, sent);
  const std::vector<int> tree = netem::worker_tree(topology, static_cast<std::size_t>(workers));
  return !around_ring || predict_exchange(topology, workers, sent, tree)->time_s < around_ring->time_s;
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

}  // namespace

std::string Run::collective() const {
  if (trainer) return collective_without_network;
  static const Json::json_pointer place("/collective/name");
  const std::string name = training_config.value(place, collective_without_network);
  if (name != "auto") return name;
  return tree_takes_less_time(topology, workers) ? "island" : "ring";
}

std::vector<int> Run::tree() const {
  if (collective() != "island") return {};
  return netem::worker_tree(topology, static_cast<std::size_t>(workers));
}

Json without_network(Json training_config) {
  const auto collective = training_config.find("collective");
  if (collective != training_config.end()) (*collective)["name"] = collective_without_network;
  return training_config;
}

bool Run::needs_network() const {
  const bool measures_computing = mode == Mode::simulate && !profile;
  return (mode == Mode::live || mode == Mode::replay || measures_computing) &&
         topology.kind != netem::TopologyKind::loopback;
}

std::vector<Run> plan_runs(const Experiment& experiment, const TrainerProgram& trainer) {
  const std::vector<Point> points = expand(experiment);
  Topologies topologies(experiment.file);
  std::vector<Run> runs;
  std::vector<Json> training_configs;
  for (const Point& point : points) {
    runs.push_back(located(point, [&] { return read_harness_part(point, topologies); }));
    training_configs.push_back(runs.back().training_config);
  }
  const std::vector<CheckedConfig> checked = trainer.check(training_configs);
  DistinctRuns distinct;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!checked[i].ok) {
      throw InputError(points[i].place_of(checked[i].pointer), with_harness_keys(checked[i]));
    }
    Run& run = runs[i];
    run.training_config = checked[i].config;
    run.plan = checked[i].plan;
    run.config.update(run.training_config);
    Json content = checked[i].content;
    // A shipped one goes by its name, as our own code does; a path has an ending.
    if (run.trainer && std::filesystem::path(run.config.at("trainer").get<std::string>()).has_extension()) {
      content["/trainer"] = content_hash_of_file(*run.trainer);
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
    if (run.mode != Mode::converge) run.plan["collective"] = run.collective();
    identify(run, content);
    distinct.add(std::move(run));
  }
  return distinct.take();
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
