// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/run_config.hh"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

#include "common/protocol/device.hh"
#include "common/support/registry.hh"
#include "harness/experiment/bundled_files.hh"
#include "harness/plan/controller_options.hh"
#include "harness/plan/run_id.hh"
#include "harness/plan/script_content.hh"
#include "harness/plan/script_inputs.hh"
#include "harness/plan/training_command.hh"
#include "harness/simulation/machine_file.hh"
#include "netem/topology/topology_format.hh"
#include "netem/topology/topology_settings.hh"

namespace thinpipe {
namespace {

// The number of hosts of the bundled topologies.
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

// The options of one run, and their places in the user's file.
struct Given {
  JsonObject& object;
  ControllerOptions options;

  Place place_of(std::string_view key) const { return object.place_of(key); }

  void refuse(const std::string& key, const char* why) const {
    if (object.find(key) != nullptr) throw InputError(place_of(key), why);
  }
};

void apply_bottleneck(netem::Topology& topology, const BottleneckOptions& options, const Place& place) {
  netem::forget_bottleneck_buffers(topology, options.burst_s.has_value(), options.queue_s.has_value());
  if (options.rate_bit_per_s) netem::set_bottleneck_rate(topology, *options.rate_bit_per_s, place / "rate");
  if (options.queue_s) netem::set_bottleneck_queue(topology, *options.queue_s, place / "queue");
  if (options.burst_s) netem::set_bottleneck_burst(topology, *options.burst_s, place / "burst");
  if (options.has_queueing()) {
    const auto queueing =
        options.queueing ? std::optional(netem::queueing_of(*options.queueing)) : std::nullopt;
    netem::set_bottleneck_queueing(topology, queueing, options.ecn, place);
  }
}

// Reads the changes of the network during the run. Adds them to the configuration only if there are any, so
// that runs without changes keep their ids.
void read_changes(const Given& given, const Topologies& topologies, Setting& setting, Run& run) {
  const auto find = [&](const std::string& name, const Place& place) {
    return bundled_rate_traces().find(name, topologies.folder(), place).string();
  };
  run.schedule = netem::make_schedule(given.options.schedule, given.object.place(), setting.topology, find);
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

// Reads the flows beside the workers' traffic; adds them in the same way.
void read_cross_traffic(const Given& given, Setting& setting, Run& run) {
  run.cross_traffic = given.options.cross_traffic;
  netem::check_cross_flows(run.cross_traffic, given.place_of("cross_traffic"), setting.topology);
  for (const netem::CrossFlow& flow : run.cross_traffic)
    setting.config["cross_traffic"].push_back(write_options(flow));
}

// Reads the planned faults of workers and the reaction to failures; adds them in the same way.
void read_faults(const Given& given, Setting& setting, Run& run) {
  run.worker_events =
      make_worker_events(given.options.worker_events, given.place_of("worker_events"), run.workers);
  run.on_worker_failure = given.options.on_worker_failure;
  for (const WorkerEvent& event : run.worker_events) {
    setting.config["worker_events"].push_back(to_json(event));
  }
  if (run.on_worker_failure.restarts()) {
    setting.config["on_worker_failure"] = write_options(run.on_worker_failure);
  }
}

// Only a cluster's hosts are machines.
void check_kind(const netem::Topology& topology, const std::string& mode, const Place& place) {
  const bool is_cluster = topology.kind == netem::TopologyKind::cluster;
  if (is_cluster == (mode == "cluster")) return;
  throw InputError(
      place, is_cluster
                 ? fmt::format("the topology \"{}\" is of kind \"cluster\", which works only in mode "
                               "\"cluster\"; name another topology, or change the mode",
                               topology.name)
                 : fmt::format("must be of kind \"cluster\" in mode \"cluster\", whose network is real, "
                               "but \"{}\" is of kind \"{}\"; name one such as \"cluster-4\"",
                               topology.name, netem::name_of(topology.kind)));
}

void read_network_part(const Given& given, Topologies& topologies, Setting& setting, Run& run) {
  const ControllerOptions& options = given.options;
  netem::Topology& topology = setting.topology;
  topology = topologies.load(options.topology, given.place_of("topology"));
  check_kind(topology, options.mode, given.place_of("topology"));
  if (options.mtu) netem::set_mtu(topology, *options.mtu, given.place_of("mtu"));
  if (options.bottleneck) apply_bottleneck(topology, *options.bottleneck, given.place_of("bottleneck"));
  if (options.congestion_control)
    netem::set_congestion_control(topology, *options.congestion_control,
                                  given.place_of("congestion_control"));
  const auto hosts = static_cast<std::int64_t>(topology.hosts.size());
  run.workers = options.workers.value_or(hosts);
  if (run.workers > hosts) {
    throw InputError(given.place_of("workers"),
                     fmt::format("must be at most {}, the number of hosts of the topology \"{}\", but is {}",
                                 hosts, topology.name, run.workers));
  }
  setting.config = {{"mode", options.mode},
                    {"topology", netem::to_json(topology)},
                    {"bottleneck", common_bottleneck(topology)},
                    {"workers", run.workers}};
}

// Makes the files of implementations in Python files absolute, at any depth.
void make_scripts_absolute(Json& config, const std::filesystem::path& folder) {
  if (!config.is_structured()) return;
  for (Json& member : config) make_scripts_absolute(member, folder);
  if (!config.is_object() || !config.contains("name") || !config.at("name").is_string()) return;
  auto script = parse_script_name(config.at("name").get<std::string>());
  if (!script) return;
  script->file = std::filesystem::absolute(folder / script->file).lexically_normal();
  config["name"] = script->text();
}

// An empty path is the current folder.
std::filesystem::path absolute_folder(const std::filesystem::path& folder) {
  if (folder.empty()) return std::filesystem::current_path();
  return std::filesystem::absolute(folder).lexically_normal();
}

// Makes the paths of the trainer's part absolute. They are relative to the experiment's folder, too.
void make_paths_absolute(Json& training_config, const std::filesystem::path& folder) {
  make_scripts_absolute(training_config, folder);
  for (const char* pointer : {"/weights/file", "/dataset/directory", "/dataset/path",
                              "/pretraining/dataset/directory", "/pretraining/dataset/path"}) {
    const Json::json_pointer place(pointer);
    if (!training_config.contains(place) || !training_config.at(place).is_string()) continue;
    const std::filesystem::path path = training_config.at(place).get<std::string>();
    if (path.empty() || path.is_absolute()) continue;  // the trainer refuses an empty one
    training_config[place] = std::filesystem::absolute(folder / path).lexically_normal().string();
  }
}

// Returns the place of the field `shorthand`: the value itself if it was written as a string.
Place shorthand_place(const Json& written, const Place& place, std::string_view shorthand) {
  return written.is_object() ? place / shorthand : place;
}

// Reads the hook, and adds it and the method's name to the configuration.
void read_hook(ExternalTrainer& trainer, const std::filesystem::path& folder, const Place& place,
               Setting& setting) {
  locate_hook(*trainer.hook, folder, place / "hook");
  if (!trainer.method) trainer.method = function_of(*trainer.hook);
  setting.config["trainer"]["hook"] = to_json(*trainer.hook);
  setting.config["trainer"]["method"] = *trainer.method;
  try {
    ScriptContent().add_to(setting.content, {{"trainer", setting.config.at("trainer")}});
  } catch (const InputError& error) {
    throw InputError(place_in(*trainer.hook, place / "hook", "/name"), error.message());
  }
}

// Reads an external trainer that is a program.
void read_program(const Given& given, const std::filesystem::path& folder, Setting& setting, Run& run) {
  ExternalTrainer trainer = *given.options.trainer;
  check_external_trainer(trainer, folder, given.place_of("trainer"));
  const Json& written = given.object.get("trainer");
  const Place program_place = shorthand_place(written, given.place_of("trainer"), ExternalTrainer::shorthand);
  run.trainer = std::filesystem::absolute(bundled_trainers().find(trainer.program, folder, program_place));
  if (trainer.is_own() && ::access(run.trainer->c_str(), X_OK) != 0) {
    throw InputError(program_place,
                     fmt::format("the trainer {} cannot be executed: it needs chmod +x and a first line such "
                                 "as #!/usr/bin/env python3",
                                 run.trainer->string()));
  }
  setting.config["trainer"] = written;
  if (trainer.is_own()) {
    setting.content[program_place.pointer] = content_hash_of_file(*run.trainer);
    if (!trainer.files.empty()) setting.content["/trainer/files"] = content_hash_of_files(trainer, folder);
  }
  if (trainer.hook) read_hook(trainer, folder, given.place_of("trainer"), setting);
  run.external_trainer = std::move(trainer);
}

// Refuses the members that need a worker program that takes part in them.
void check_command_can(const Run& run, const Given& given) {
  if (run.schedule.follows_train_time()) {
    throw InputError(given.place_of("rate_trace") / "clock",
                     R"(must be "wall" for a trainer's command, which does not report starts of iterations)");
  }
  if (run.on_worker_failure.restarts()) {
    throw InputError(given.place_of("on_worker_failure"),
                     "cannot restart a trainer's command, which does not report where it resumes");
  }
  for (const WorkerEvent& event : run.worker_events) {
    if (event.slowdown) {
      throw InputError(
          event.place / "slowdown",
          R"(does not work with a trainer's command; use an "action", or an option of the script)");
    }
  }
}

// Reads an external trainer that is a command.
void read_command(const Given& given, const std::filesystem::path& folder, Setting& setting, Run& run) {
  ExternalTrainer trainer = *given.options.trainer;
  const Place place = given.place_of("trainer");
  check_external_trainer(trainer, folder, place);
  check_command(trainer, place);
  run.inputs = inputs_of_command(trainer, run.folder, place);
  setting.config["trainer"] = normalised_command(trainer, content_hash_of_files(run.inputs, run.folder));
  trainer.method = method_of_command(trainer);
  run.external_trainer = std::move(trainer);
  check_command_can(run, given);
}

void read_trainer(const Given& given, const Topologies& topologies, Setting& setting, Run& run) {
  if (!given.options.trainer) return;
  const auto read = given.options.trainer->is_command() ? read_command : read_program;
  read(given, topologies.folder(), setting, run);
}

constexpr const char* machine_refusal =
    "works only in mode \"simulate\": the workers of other modes run on this machine; remove it";

void read_live_part(const Given& given, Topologies& topologies, Setting& setting, Run& run) {
  given.refuse(
      "compute_profile",
      "works only in modes \"replay\" and \"simulate\": the workers of a live run compute themselves; "
      "remove it");
  given.refuse("machine", machine_refusal);
  read_network_part(given, topologies, setting, run);
  read_changes(given, topologies, setting, run);
  read_cross_traffic(given, setting, run);
  read_faults(given, setting, run);
  read_trainer(given, topologies, setting, run);
}

// Refuses what needs an emulated network or the workers' own processes, which are on other machines.
void read_cluster_part(const Given& given, Topologies& topologies, Setting& setting, Run& run) {
  run.mode = Mode::cluster;
  for (const char* key :
       {"bottleneck", "congestion_control", "mtu", "network_events", "rate_trace", "cross_traffic"})
    given.refuse(key, "does not work in mode \"cluster\", whose network is real; remove it");
  given.refuse(
      "compute_profile",
      "works only in modes \"replay\" and \"simulate\": the workers of a cluster compute themselves; "
      "remove it");
  given.refuse("machine", machine_refusal);
  read_network_part(given, topologies, setting, run);
  read_faults(given, setting, run);
  for (const WorkerEvent& event : run.worker_events) {
    if (!event.slowdown)
      throw InputError(
          event.place / "action",
          "does not work in mode \"cluster\": the worker is on another machine; remove it, or use a "
          "\"slowdown\"");
  }
  read_trainer(given, topologies, setting, run);
}

void read_profile(const Given& given, const std::filesystem::path& folder, Setting& setting, Run& run) {
  const ComputeProfileOptions& options = given.options.compute_profile;
  const Place place = given.place_of("compute_profile");
  const Place batch_size_place = place / "batch_size_per_worker";
  if (options.device == measured_profile) {
    if (options.batch_size_per_worker) {
      throw InputError(
          batch_size_place,
          "works only for estimates: a measurement on this machine uses the run's own batch size; remove "
          "it, or set \"device\"");
    }
    setting.config["compute_profile"] = measured_profile;
    return;
  }
  const Json& written = given.object.get("compute_profile");
  const Place device_place = shorthand_place(written, place, ComputeProfileOptions::shorthand);
  run.profile = bundled_compute_profiles().find(options.device, folder, device_place);
  run.estimated_batch_size = options.batch_size_per_worker;
  if (run.estimated_batch_size && !is_device(parse_json_file(run.profile->string()))) {
    throw InputError(batch_size_place,
                     fmt::format("works only for estimates, but {} is a compute profile, which has its own "
                                 "batch size; remove it, or name a device",
                                 run.profile->string()));
  }
  // However it is written, equal profiles make one run.
  const bool has_batch_size = run.estimated_batch_size.has_value();
  setting.config["compute_profile"] =
      has_batch_size ? Json{{"device", options.device}, {"batch_size_per_worker", *run.estimated_batch_size}}
                     : Json(options.device);
  setting.content[has_batch_size ? "/compute_profile/device" : "/compute_profile"] =
      content_hash_of_file(*run.profile);
}

// Reads the machines of a simulation. Adds them to the configuration only if they are given, so that simulations with
// ideal workers keep their ids.
void read_machine(const Given& given, const std::filesystem::path& folder, Setting& setting, Run& run) {
  if (!given.options.machine) return;
  run.machine = given.options.machine;
  const Place place = given.place_of("machine");
  const Place costs_place = shorthand_place(given.object.get("machine"), place, MachineOptions::shorthand);
  setting.config["machine"] = write_options(*run.machine);
  if (run.machine->costs == measured_costs && !setting.topology.is_emulated()) {
    throw InputError(
        costs_place,
        "cannot be \"measured\" over a topology of kind loopback, which emulates no network; name another "
        "topology, or set \"free\" or the path of a measured machine's file");
  }
  if (!run.machine->reads_file()) return;
  const std::filesystem::path path = folder / run.machine->costs;
  if (!std::filesystem::is_regular_file(path)) {
    throw InputError(costs_place,
                     fmt::format("must be \"measured\", \"free\" or the path of a .json file, but "
                                 "the file {} does not exist",
                                 path.string()));
  }
  load_machine_file(path.string());
  run.machine->costs = std::filesystem::absolute(path).string();
  setting.content["/machine/costs"] = content_hash_of_file(path);
}

// Refuses changes and faults: a replay repeats only samples of the steps.
void read_replay_part(const Given& given, Topologies& topologies, Setting& setting, Run& run) {
  run.mode = given.options.mode == "replay" ? Mode::replay : Mode::simulate;
  given.refuse("trainer",
               "works only in modes \"live\" and \"cluster\": an external trainer's communication is not "
               "recorded, so it cannot be replayed");
  for (const char* key : {"network_events", "rate_trace", "cross_traffic"}) {
    given.refuse(key, "works only in mode \"live\": a replay repeats only samples of the steps");
  }
  for (const char* key : {"worker_events", "on_worker_failure"}) {
    given.refuse(key,
                 "works only in modes \"live\" and \"cluster\": a replay repeats only samples of the steps");
  }
  if (run.mode == Mode::simulate) {
    constexpr const char* why =
        "has no effect in mode \"simulate\", whose flows share links evenly; remove it";
    given.refuse("congestion_control", why);
    const auto& bottleneck = given.options.bottleneck;
    if (bottleneck && bottleneck->queueing) throw InputError(given.place_of("bottleneck") / "queueing", why);
    if (bottleneck && bottleneck->ecn) throw InputError(given.place_of("bottleneck") / "ecn", why);
  }
  read_network_part(given, topologies, setting, run);
  read_profile(given, topologies.folder(), setting, run);
  if (run.mode == Mode::replay) given.refuse("machine", machine_refusal);
  read_machine(given, topologies.folder(), setting, run);
}

// For keys that do not work in mode "converge".
constexpr const char* converge_refusal =
    "does not work in mode \"converge\", whose workers are threads of one process, without a network; remove it";

// Refuses members that need a network or times, because they would have no effect.
void read_convergence_part(const Given& given, Setting& setting, Run& run) {
  run.mode = Mode::converge;
  setting.topology.kind = netem::TopologyKind::loopback;
  run.workers = given.options.workers.value_or(default_convergence_workers);
  for (const std::string& key : controller_option_keys()) {
    if (key != "mode" && key != "workers") given.refuse(key, converge_refusal);
  }
  setting.config = {{"mode", "converge"}, {"workers", run.workers}};
}

}  // namespace

const netem::Topology& Topologies::load(const std::string& name, const Place& place) {
  const auto cached = loaded_.find(name);
  if (cached != loaded_.end()) return cached->second;
  const std::filesystem::path path = bundled_topologies().find(name, folder_, place);
  return loaded_.emplace(name, netem::load_topology(path)).first->second;
}

Json take_controller_part(Json& config) {
  auto& members = config.get_ref<Json::object_t&>();
  Json::object_t taken;
  for (const std::string& key : controller_option_keys()) taken.insert(members.extract(key));
  return taken;
}

Run read_controller_part(const Json& controller_part, Topologies& topologies) {
  Run run;
  run.folder = absolute_folder(topologies.folder());
  run.written_folder = topologies.folder();
  Setting setting;
  JsonObject object(controller_part, {"", ""});
  const Given given{object, read_harness_options(object)};
  if (given.options.mode == "live") {
    read_live_part(given, topologies, setting, run);
  } else if (given.options.mode == "cluster") {
    read_cluster_part(given, topologies, setting, run);
  } else if (given.options.mode == "converge") {
    read_convergence_part(given, setting, run);
  } else {
    read_replay_part(given, topologies, setting, run);
  }
  const bool measures_costs = run.machine && run.machine->costs == measured_costs;
  const bool measures =
      run.is_replay() ? run.mode == Mode::replay || !run.profile || measures_costs : run.mode == Mode::live;
  run.needs_network = measures && setting.topology.is_emulated();
  run.setting = std::make_shared<const Setting>(std::move(setting));
  return run;
}

Json training_part(Json trainers_part, const Run& run, const std::filesystem::path& folder) {
  if (run.mode == Mode::converge) {
    if (trainers_part.contains("collective")) throw InputError({"", "/collective"}, converge_refusal);
    trainers_part["collective"] = {{"name", collective_without_network}};
  }
  make_paths_absolute(trainers_part, folder);
  trainers_part["workers"] = run.workers;
  return trainers_part;
}

}  // namespace thinpipe
