#include "harness/run_plan.hh"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include "harness/harness_keys.hh"
#include "harness/merge.hh"
#include "harness/run_id.hh"
#include "harness/support/nearest.hh"

namespace thinpipe {
namespace {

// As the shipped topologies have hosts.
constexpr std::int64_t default_convergence_workers = 8;

// Loads each topology once, whatever the number of runs that use it.
class Topologies {
 public:
  explicit Topologies(const std::string& experiment_file)
      : folder_(std::filesystem::path(experiment_file).parent_path()) {}

  const netem::Topology& load(const std::string& name, const Place& place) {
    const auto cached = loaded_.find(name);
    if (cached != loaded_.end()) return cached->second;
    return loaded_.emplace(name, netem::load_topology(find_topology(name, folder_, place))).first->second;
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
  object.finish();
  netem::set_bottleneck_rate(topology, rate_bit_per_s, object.place_of("rate"));
}

// Reads what is to change during the run, and adds it to the configuration where there is something: runs
// without changes keep the identity they always had.
void read_changes(JsonObject& object, const Topologies& topologies, Run& run) {
  run.schedule = netem::read_schedule(object, run.topology, [&](const std::string& name, const Place& place) {
    return find_trace(name, topologies.folder(), place).string();
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

void read_live_part(JsonObject& object, Topologies& topologies, Run& run) {
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
  run.config = {{"mode", "live"},
                {"topology", netem::to_json(run.topology)},
                {"bottleneck", common_bottleneck(run.topology)},
                {"workers", run.workers}};
  read_changes(object, topologies, run);
  read_faults(object, run);
}

// What a network or the clock would have to be there for is refused: it would do nothing.
void read_convergence_part(JsonObject& object, Run& run) {
  run.topology.kind = netem::TopologyKind::loopback;
  run.workers = default_convergence_workers;
  object.read("workers", run.workers, {.at_least = 1});
  for (const std::string& key : harness_keys()) {
    if (key == "mode" || key == "workers" || object.find(key) == nullptr) continue;
    throw InputError(
        object.place_of(key),
        "is for mode \"live\": a convergence run has no network, and its workers are one process");
  }
  run.config = {{"mode", "converge"}, {"workers", run.workers}};
}

// The harness's part of a configuration; places are pointers into the merged configuration.
Run read_harness_part(const Point& point, Topologies& topologies) {
  Run run;
  run.labels = point.labels;
  run.label = point.label();
  JsonObject object(point.config, {"", ""});
  std::string mode = "live";
  object.read("mode", mode, {.one_of = {"live", "converge"}});
  if (mode == "live") {
    read_live_part(object, topologies, run);
  } else {
    run.mode = Mode::converge;
    read_convergence_part(object, run);
  }
  for (netem::NetworkEvent& event : run.schedule.events) event.place = point.place_of(event.place.pointer);
  for (WorkerEvent& event : run.worker_events) event.place = point.place_of(event.place.pointer);
  run.training_config = point.config;
  for (const std::string& key : harness_keys()) run.training_config.erase(key);
  run.training_config["workers"] = run.workers;
  return run;
}

// The trainer knows nothing of the harness's keys: a misspelt one of those gets its suggestion here.
std::string with_harness_keys(const CheckedConfig& checked) {
  const std::vector<std::string> keys = pointer_keys(checked.pointer);
  const bool unknown_key = keys.size() == 1 && checked.message.starts_with("unknown key");
  if (!unknown_key || checked.message.find("did you mean") != std::string::npos) return checked.message;
  return fmt::format("unknown key \"{}\"{}; and the trainer's: {}", keys[0],
                     suggestion(keys[0], harness_keys()), checked.message);
}

std::vector<std::string> names_in(const std::filesystem::path& folder, const std::string& extension) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == extension) names.push_back(entry.path().stem());
  }
  std::ranges::sort(names);
  return names;
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

bool Run::needs_network() const {
  return mode == Mode::live && topology.kind != netem::TopologyKind::loopback;
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
  std::set<std::string> seen;
  std::vector<Run> distinct;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!checked[i].ok) {
      throw InputError(points[i].place_of(checked[i].pointer), with_harness_keys(checked[i]));
    }
    Run& run = runs[i];
    run.training_config = checked[i].config;
    run.plan = checked[i].plan;
    run.config.update(run.training_config);
    run.decisive = decisive_part(run.config, checked[i].content);
    run.id = run_id(run.config, checked[i].content);
    if (seen.insert(run.id).second) distinct.push_back(std::move(run));
  }
  return distinct;
}

std::vector<Run> matching(std::vector<Run> runs, const std::string& pattern) {
  if (pattern.empty()) return runs;
  const auto matches = [&pattern](const std::string& text) {
    return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
  };
  std::vector<std::string> labels;
  std::vector<Run> out;
  for (Run& run : runs) {
    labels.push_back(run.label);
    if (matches(run.label) || std::ranges::any_of(run.labels, matches, &Labels::value_type::second)) {
      out.push_back(std::move(run));
    }
  }
  if (out.empty()) {
    throw InputError({"--only " + pattern, ""},
                     fmt::format("matches no run; the runs are: {}", fmt::join(labels, "; ")));
  }
  return out;
}

std::filesystem::path topology_folder() {
  return std::filesystem::path(THINPIPE_DATA_DIR) / "topologies";
}

std::filesystem::path find_topology(const std::string& name, const std::filesystem::path& folder,
                                    const Place& place) {
  if (name.ends_with(".json")) {
    const std::filesystem::path path = folder / name;
    if (!std::filesystem::exists(path)) {
      throw InputError(place, fmt::format("the topology file {} does not exist", path.string()));
    }
    return path;
  }
  const std::vector<std::string> names = topology_names();
  if (std::ranges::find(names, name) == names.end()) {
    throw InputError(place, fmt::format("unknown topology \"{}\"{}, or the path of a .json file", name,
                                        suggestion(name, names)));
  }
  return topology_folder() / (name + ".json");
}

std::filesystem::path find_trace(const std::string& name, const std::filesystem::path& folder,
                                 const Place& place) {
  if (std::filesystem::path(name).has_extension()) {
    const std::filesystem::path path = folder / name;
    if (!std::filesystem::is_regular_file(path)) {
      throw InputError(place, fmt::format("the trace {} does not exist", path.string()));
    }
    return path;
  }
  const std::vector<std::string> names = trace_names();
  if (std::ranges::find(names, name) == names.end()) {
    throw InputError(place, fmt::format("unknown trace \"{}\"{}, or the path of a file with an extension",
                                        name, suggestion(name, names)));
  }
  return topology_folder() / "traces" / (name + ".csv");
}

std::vector<std::string> topology_names() {
  return names_in(topology_folder(), ".json");
}

std::vector<std::string> trace_names() {
  return names_in(topology_folder() / "traces", ".csv");
}

}  // namespace thinpipe
