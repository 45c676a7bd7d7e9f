// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/controller_options.hh"

#include <algorithm>

#include "harness/experiment/bundled_files.hh"

namespace thinpipe {
namespace {

std::vector<std::string> profile_names() {
  std::vector<std::string> names = {measured_profile};
  const std::vector<std::string>& shipped = bundled_compute_profiles().names();
  names.insert(names.end(), shipped.begin(), shipped.end());
  return names;
}

Json& entry_of(Json& description, const std::string& key) {
  return *std::ranges::find_if(description, [&key](const Json& entry) { return entry["key"] == key; });
}

// Adds the names of the bundled traces: netem knows only paths.
void add_trace_names(Json& rate_trace) {
  Json& file = entry_of(rate_trace["options"], "file");
  const auto effect = file["effect"].get<std::string>();
  OptionDescriber describer;
  describer("file", std::string(),
            Rule{.effect = effect, .file_names = bundled_rate_traces().names(), .required = true});
  file = describer.out.front();
}

// The "options" of a command and the members of a hook are the user's own: an object with any members, instead of a
// value with described ones.
void free_users_options(Json& trainer) {
  for (Json& form : trainer["any_of"]) {
    if (!form.contains("options")) continue;
    entry_of(form["options"], "options")["type"] = "object";
    for (Json& hook : entry_of(form["options"], "hook")["any_of"]) {
      if (hook.contains("options")) hook = {{"type", "object"}};
    }
  }
}

// An event has a state or other changes, but not both.
Json constraint_of_network_events() {
  Json changes = Json::array();
  for (const char* key : {"rate", "delay", "loss"}) changes.push_back({{"required", Json::array({key})}});
  const Json reshapes = {{"anyOf", changes}};
  return {{"if", {{"required", Json::array({"state"})}}}, {"then", {{"not", reshapes}}}, {"else", reshapes}};
}

// An action has one time; a slowdown begins at an iteration.
Json constraint_of_worker_events() {
  const auto has = [](const std::vector<const char*>& all, const std::vector<const char*>& none) {
    Json others = Json::array();
    for (const char* key : none) others.push_back({{"required", Json::array({key})}});
    return Json{{"required", all}, {"not", {{"anyOf", others}}}};
  };
  return {{"oneOf",
           {has({"slowdown"}, {"action", "at"}), has({"action", "at"}, {"slowdown", "at_iteration"}),
            has({"action", "at_iteration"}, {"slowdown", "at"})}}};
}

}  // namespace

void ComputeProfileOptions::visit(auto& field) {
  field("device", device,
        Rule{.effect = "\"measured\", name of a shipped profile or device, or path of a .json file",
             .file_names = profile_names(),
             .required = true});
  field("batch_size_per_worker", batch_size_per_worker,
        Rule{.effect = "for a device, batch size for which the compute time is estimated; null: that of the "
                       "training run. The exchange does not depend on it, so a training run with small "
                       "batches can stand for one that does not fit into this machine's memory",
             .at_least = 1});
}

void ControllerOptions::visit(auto& field) {
  field("mode", mode,
        Rule{.effect = "live: train over the emulated network and measure times; converge: train all workers "
                       "in one process, without network and times, to find a method's effect on learning; "
                       "replay: repeat the communication of a converge run over the emulated network and "
                       "measure times; simulate: calculate these times from a model of the network; cluster: "
                       "train with each worker on a machine of its own, over the real network",
             .one_of = {"live", "converge", "replay", "simulate", "cluster"}});
  field("topology", topology,
        Rule{.effect = "the network: name of a shipped topology, or path of a .json file relative to the "
                       "experiment's folder",
             .file_names = bundled_topologies().names()});
  field("compute_profile", compute_profile,
        Rule{.effect = "compute time in modes replay and simulate: \"measured\": on this machine, before the "
                       "first replay; or name of a shipped profile or device; or path of a .json file "
                       "relative to the experiment's folder. For a device, the time is estimated"});
  field("machine", machine,
        Rule{.effect =
                 "in mode simulate, machines whose cores the workers share: \"measured\": this one, as in a "
                 "replay; or an object that describes others; null: ideal workers, whose compute and "
                 "communication do not slow down each other"});
  field(
      "trainer", trainer,
      Rule{
          .effect =
              "in modes live and cluster, external trainer that replaces thinpipe-trainer: name of a shipped "
              "one, or path relative to the experiment's folder (docs/reference/trainers.md); null: "
              "none"});
  field("bottleneck", bottleneck,
        Rule{.effect = "cap, burst and queue of the topology's bottlenecks; null: their own"});
  // read_harness_options reads it: a name or an object is no value that a rule describes.
  if constexpr (!std::is_same_v<decltype(field), OptionReader&>) {
    field(
        "congestion_control", congestion_control,
        Rule{
            .effect =
                "TCP's congestion control on all hosts, such as cubic, reno or bbr, if the kernel has it; or "
                "an object with that of single hosts and a \"default\" for all others; null: the "
                "topology's, by default cubic"});
  }
  field("mtu", mtu,
        Rule{.effect = "bytes of the largest packet on paths that cross a cap; null: the topology's, by "
                       "default 1500",
             .at_least = netem::min_packet_bytes,
             .at_most = netem::max_packet_bytes});
  field(
      "workers", workers,
      Rule{.effect = "trainer processes, on the topology's first hosts, which may all lie on one side of its "
                     "bottlenecks if they are few; null: one on each host, or 8 in mode converge",
           .at_least = 1});
  schedule.visit(field);
  field("cross_traffic", cross_traffic,
        Rule{.effect =
                 "flows between hosts that compete with the workers' traffic from the first evaluation to "
                 "the end of training"});
  field("worker_events", worker_events, Rule{.effect = "faults and slowdowns of workers during the run"});
  field("on_worker_failure", on_worker_failure,
        Rule{.effect = "what happens when a worker crashes, hangs or cannot be reached"});
}

ControllerOptions read_harness_options(JsonObject& object) {
  auto options = read_options<ControllerOptions>(object);
  if (const Json* value = object.find("congestion_control"); value != nullptr && !value->is_null())
    options.congestion_control = *value;
  return options;
}

Json describe_controller_options() {
  Json out = describe_options<ControllerOptions>();
  add_trace_names(entry_of(out, "rate_trace"));
  free_users_options(entry_of(out, "trainer"));
  Json& congestion_control = entry_of(out, "congestion_control");
  congestion_control.erase("type");
  congestion_control["any_of"] = {{{"type", "string"}}, {{"type", "object"}}};
  entry_of(out, "network_events")["constraint"] = constraint_of_network_events();
  entry_of(out, "cross_traffic")["constraint"] = {{"dependencies", {{"on", {"off"}}, {"off", {"on"}}}}};
  entry_of(out, "worker_events")["constraint"] = constraint_of_worker_events();
  return out;
}

const std::vector<std::string>& controller_option_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> out;
    for (const Json& entry : describe_controller_options()) out.push_back(entry["key"]);
    return out;
  }();
  return keys;
}

}  // namespace thinpipe
