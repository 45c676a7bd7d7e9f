#include "harness/plan/run_reading.hh"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

#include "common/protocol/device.hh"
#include "harness/plan/harness_keys.hh"
#include "harness/plan/other_trainer.hh"
#include "harness/plan/run_id.hh"
#include "harness/plan/shipped_files.hh"

namespace thinpipe {
namespace {

// The number of hosts of the shipped topologies.
constexpr std::int64_t default_convergence_workers = 8;

// Returns {"rate": …} if all bottlenecks have the same cap, otherwise null.
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

// Reads the changes of the network during the run. Adds them to the configuration only if there are any, so
// that runs without changes keep their ids.
void read_changes(JsonObject& object, const Topologies& topologies, Setting& setting, Run& run) {
  const auto find = [&](const std::string& name, const Place& place) {
    return shipped_rate_traces().find(name, topologies.folder(), place).string();
  };
  run.schedule = netem::read_schedule(object, setting.topology, find);
  if (Json events = netem::events_to_json(run.schedule); !events.is_null()) {
    setting.config["network_events"] = std::move(events);
  }
  Json trace = netem::trace_to_json(run.schedule);
  if (trace.is_null()) return;
  Json steps = Json::array();
  for (const netem::RateStep& step : run.schedule.trace->trace.steps) {
    steps.push_back({step.at_s, step.rate_bit_per_s});
  }
  const auto& period_s = run.schedule.trace->trace.period_s;
  trace["steps_hash"] = content_hash(Json{steps, period_s ? Json(*period_s) : Json(nullptr)}.dump());
  setting.config["rate_trace"] = std::move(trace);
}

// Reads the planned faults of workers and the reaction to failures; adds them in the same way.
void read_faults(JsonObject& object, Setting& setting, Run& run) {
  run.worker_events = read_worker_events(object, run.workers);
  run.on_worker_failure = read_failure_policy(object);
  for (const WorkerEvent& event : run.worker_events) {
    setting.config["worker_events"].push_back(to_json(event));
  }
  if (run.on_worker_failure.restarts()) {
    setting.config["on_worker_failure"] = write_options(run.on_worker_failure);
  }
}

void refuse(JsonObject& object, const std::string& key, const char* why) {
  if (object.find(key) != nullptr) throw InputError(object.place_of(key), why);
}

void read_network_part(JsonObject& object, Topologies& topologies, const std::string& mode, Setting& setting,
                       Run& run) {
  std::string name = "three-switch";
  object.read("topology", name);
  netem::Topology& topology = setting.topology;
  topology = topologies.load(name, object.place_of("topology"));
  if (const Json* bottleneck = object.find("bottleneck")) {
    apply_bottleneck(topology, *bottleneck, object.place_of("bottleneck"));
  }
  const auto hosts = static_cast<std::int64_t>(topology.hosts.size());
  run.workers = hosts;
  object.read("workers", run.workers, {.at_least = 1});
  if (run.workers > hosts) {
    throw InputError(object.place_of("workers"),
                     fmt::format("must be at most {}, the number of hosts of the topology \"{}\", but is {}",
                                 hosts, topology.name, run.workers));
  }
  setting.config = {{"mode", mode},
                    {"topology", netem::to_json(topology)},
                    {"bottleneck", common_bottleneck(topology)},
                    {"workers", run.workers}};
}

// Makes the paths of the trainer's part absolute. They are relative to the experiment's folder, too.
void lead_paths_on(Json& training_config, const std::filesystem::path& folder) {
  for (const char* pointer : {"/weights/file", "/dataset/directory", "/dataset/path",
                              "/pretraining/dataset/directory", "/pretraining/dataset/path"}) {
    const Json::json_pointer place(pointer);
    if (!training_config.contains(place) || !training_config.at(place).is_string()) continue;
    const std::filesystem::path path = training_config.at(place).get<std::string>();
    if (path.empty() || path.is_absolute()) continue;  // the trainer refuses an empty one
    training_config[place] = std::filesystem::absolute(folder / path).lexically_normal().string();
  }
}

// Reads the external trainer.
void read_trainer(JsonObject& object, const std::filesystem::path& folder, Setting& setting, Run& run) {
  const Json* const value = object.find("trainer");
  if (value == nullptr || value->is_null()) return;
  const Place place = object.place_of("trainer");
  OtherTrainer trainer;
  if (value->is_object()) {
    trainer = read_options<OtherTrainer>(*value, place);
  } else {
    read_value(*value, place, {}, trainer.program);
  }
  const Place program_place = value->is_object() ? place / "program" : place;
  run.trainer = std::filesystem::absolute(shipped_trainers().find(trainer.program, folder, program_place));
  if (::access(run.trainer->c_str(), X_OK) != 0) {
    throw InputError(program_place,
                     fmt::format("the trainer {} cannot be executed: it needs chmod +x and a first line such "
                                 "as #!/usr/bin/env python3",
                                 run.trainer->string()));
  }
  if (value->is_object()) check_other_trainer(trainer, folder, place);
  setting.config["trainer"] = *value;
  if (trainer.is_own()) {
    setting.content[value->is_object() ? "/trainer/program" : "/trainer"] =
        content_hash_of_file(*run.trainer);
    if (!trainer.files.empty()) setting.content["/trainer/files"] = content_hash_of_files(trainer, folder);
  }
  run.other_trainer = std::move(trainer);
}

void read_live_part(JsonObject& object, Topologies& topologies, Setting& setting, Run& run) {
  refuse(object, "compute_profile",
         "works only in modes \"replay\" and \"simulate\": a live run computes itself");
  read_network_part(object, topologies, "live", setting, run);
  read_trainer(object, topologies.folder(), setting, run);
  read_changes(object, topologies, setting, run);
  read_faults(object, setting, run);
}

void read_profile(JsonObject& object, const std::filesystem::path& folder, Setting& setting, Run& run) {
  const Json* const value = object.find("compute_profile");
  const Place place = object.place_of("compute_profile");
  if (value == nullptr || *value == "measured") {
    setting.config["compute_profile"] = "measured";
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
                     fmt::format("works only for estimates: {} does not describe a device, but is a profile "
                                 "with its own batch size",
                                 run.profile->string()));
  }
  setting.config["compute_profile"] = *value;
  setting.content[value->is_object() ? "/compute_profile/device" : "/compute_profile"] =
      content_hash_of_file(*run.profile);
}

// Refuses changes and faults: a replay repeats only samples of the steps.
void read_replay_part(JsonObject& object, Topologies& topologies, const std::string& mode, Setting& setting,
                      Run& run) {
  run.mode = mode == "replay" ? Mode::replay : Mode::simulate;
  refuse(object, "trainer",
         "works only in mode \"live\": an external trainer's communication is not recorded, so it cannot be "
         "replayed");
  for (const char* key : {"network_events", "rate_trace", "worker_events", "on_worker_failure"}) {
    refuse(object, key, "works only in mode \"live\": a replay repeats only samples of the steps");
  }
  read_network_part(object, topologies, mode, setting, run);
  read_profile(object, topologies.folder(), setting, run);
}

// Refuses members that need a network or times, because they would have no effect.
void read_convergence_part(JsonObject& object, Setting& setting, Run& run) {
  run.mode = Mode::converge;
  setting.topology.kind = netem::TopologyKind::loopback;
  run.workers = default_convergence_workers;
  object.read("workers", run.workers, {.at_least = 1});
  for (const std::string& key : harness_keys()) {
    if (key == "mode" || key == "workers") continue;
    refuse(object, key,
           "does not work in mode \"converge\": its workers are threads of one process, without a network");
  }
  setting.config = {{"mode", "converge"}, {"workers", run.workers}};
}

}  // namespace

const netem::Topology& Topologies::load(const std::string& name, const Place& place) {
  const auto cached = loaded_.find(name);
  if (cached != loaded_.end()) return cached->second;
  const std::filesystem::path path = shipped_topologies().find(name, folder_, place);
  return loaded_.emplace(name, netem::load_topology(path)).first->second;
}

Json take_harness_part(Json& config) {
  auto& members = config.get_ref<Json::object_t&>();
  Json::object_t taken;
  for (const std::string& key : harness_keys()) taken.insert(members.extract(key));
  return taken;
}

Run read_harness_part(const Json& harness_part, Topologies& topologies) {
  Run run;
  Setting setting;
  JsonObject object(harness_part, {"", ""});
  std::string mode = "live";
  object.read("mode", mode, {.one_of = {"live", "converge", "replay", "simulate"}});
  if (mode == "live") read_live_part(object, topologies, setting, run);
  if (mode == "converge") read_convergence_part(object, setting, run);
  if (mode == "replay" || mode == "simulate") read_replay_part(object, topologies, mode, setting, run);
  run.setting = std::make_shared<const Setting>(std::move(setting));
  return run;
}

Json training_part(Json trainers_part, const Run& run, const std::filesystem::path& folder) {
  if (run.mode == Mode::converge) {
    JsonObject object(trainers_part, {"", ""});
    refuse(object, "collective",
           "does not work in mode \"converge\": its workers are threads of one process, without a network");
    trainers_part["collective"] = {{"name", collective_without_network}};
  }
  lead_paths_on(trainers_part, folder);
  trainers_part["workers"] = run.workers;
  return trainers_part;
}

}  // namespace thinpipe
