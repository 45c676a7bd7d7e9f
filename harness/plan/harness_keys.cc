#include "harness/plan/harness_keys.hh"

#include <algorithm>

#include "harness/plan/failure_policy.hh"
#include "harness/plan/other_trainer.hh"
#include "harness/plan/shipped_files.hh"
#include "netem/topology/topology.hh"

namespace thinpipe {
namespace {

struct BottleneckOptions {
  double rate_bit_per_s = 0;
  std::optional<double> burst_s;

  void visit(auto& field) {
    field("rate", rate_bit_per_s,
          Rule{.effect = "cap of each direction, Ethernet headers included, such as \"100 Mbit/s\"",
               .quantity = Quantity::rate,
               .above = 0,
               .required = true});
    field(
        "burst", burst_s,
        Rule{.effect = "bytes that may pass at once after idling, as a time at the cap; at least 4000 bytes. "
                       "A longer burst costs less CPU time, but short messages arrive too early; null: the "
                       "topology's",
             .quantity = Quantity::duration,
             .above = 0});
  }
};

struct NetworkEventOptions {
  double at_s = 0;
  std::string link;
  std::optional<double> rate_bit_per_s;
  std::optional<double> delay_s;
  std::optional<double> loss;
  std::optional<std::string> state;

  void visit(auto& field) {
    field("at", at_s,
          Rule{.effect = "time since the first evaluation",
               .quantity = Quantity::duration,
               .at_least = 0,
               .required = true});
    field("link", link,
          Rule{.effect = "\"left-middle\" for both directions of a link, \"left->middle\" for one, "
                         "\"bottlenecks\" for all bottlenecks",
               .required = true});
    field("rate", rate_bit_per_s,
          Rule{.effect = "the cap from then on",
               .quantity = Quantity::rate,
               .at_least = netem::slowest_rate_bit_per_s,
               .at_most = netem::fastest_rate_bit_per_s});
    field("delay", delay_s,
          Rule{.effect = "the delay from then on",
               .quantity = Quantity::duration,
               .at_least = 0,
               .at_most = netem::longest_delay_s});
    field("loss", loss,
          Rule{.effect = "fraction of frames that are lost from then on", .at_least = 0, .below = 1});
    field("state", state,
          Rule{.effect = "takes both directions down, or up again; must be alone in its event",
               .one_of = {"up", "down"}});
  }
};

struct RateTraceOptions {
  std::string link;
  std::optional<double> period_s;
  std::string clock = "train";

  void visit(auto& field) {
    field("link", link,
          Rule{.effect = "link whose rate follows the trace, as in network_events", .required = true});
    field("period", period_s,
          Rule{.effect = "the trace repeats after this time; null: its last rate stays",
               .quantity = Quantity::duration,
               .above = 0});
    field("clock", clock,
          Rule{.effect = "clock of the trace's times: train: train time, which stands still during "
                         "evaluations; wall: wall-clock time since the first evaluation",
               .one_of = {"train", "wall"}});
  }
};

struct WorkerEventOptions {
  std::int64_t worker = 0;
  std::optional<double> at_s;
  std::optional<std::int64_t> at_iteration;
  std::optional<std::string> action;
  std::optional<double> slowdown;

  void visit(auto& field) {
    field("worker", worker, Rule{.effect = "its rank", .at_least = 0, .required = true});
    field("at", at_s,
          Rule{.effect = "time since the first evaluation", .quantity = Quantity::duration, .at_least = 0});
    field("at_iteration", at_iteration,
          Rule{.effect = "number of iterations that have ended; null for a slowdown: from the first one",
               .at_least = 0});
    field("action", action,
          Rule{.effect = "what happens to its process", .one_of = {"kill", "pause", "resume"}});
    field("slowdown", slowdown,
          Rule{.effect = "factor by which its compute time grows from then on", .at_least = 1});
  }
};

struct HarnessOptions {
  std::string mode = "live";
  std::optional<BottleneckOptions> bottleneck;
  std::optional<std::int64_t> workers;
  std::vector<NetworkEventOptions> network_events;
  std::optional<RateTraceOptions> rate_trace;
  std::vector<WorkerEventOptions> worker_events;

  void visit(auto& field) {
    field(
        "mode", mode,
        Rule{.effect = "live: train over the emulated network and measure times; converge: train all workers "
                       "in one process, without network and times, to find a method's effect on learning; "
                       "replay: repeat the communication of a converge run over the emulated network and "
                       "measure times; simulate: calculate these times from a model of the network",
             .one_of = {"live", "converge", "replay", "simulate"}});
    field("bottleneck", bottleneck,
          Rule{.effect = "cap and burst of the topology's bottlenecks; null: their own"});
    field("workers", workers,
          Rule{.effect = "trainer processes, on the topology's first hosts; null: one on each host, or 8 in "
                         "mode converge",
               .at_least = 1});
    field("network_events", network_events, Rule{.effect = "changes of the network during the run"});
    field("rate_trace", rate_trace,
          Rule{.effect = "trace of rates that a link follows during the run; null: none"});
    field("worker_events", worker_events, Rule{.effect = "faults and slowdowns of workers during the run"});
  }
};

// Describes a key whose value is the name of a shipped file or a path.
Json describe_file(const char* key, const char* effect, const std::vector<std::string>& names,
                   const char* pattern) {
  return {{"key", key},
          {"effect", effect},
          {"any_of", {{{"type", "string"}, {"one_of", names}}, {{"type", "string"}, {"pattern", pattern}}}}};
}

Json& entry_of(Json& description, const std::string& key) {
  return *std::ranges::find_if(description, [&key](const Json& entry) { return entry["key"] == key; });
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

Json describe_harness_keys() {
  Json out = describe_options<HarnessOptions>();
  Json topology =
      describe_file("topology",
                    "the network: name of a shipped topology, or path of a .json file relative to the "
                    "experiment's folder",
                    shipped_topologies().names(), R"(\.json$)");
  topology["default"] = "three-switch";
  out.insert(out.begin() + 1, std::move(topology));
  std::vector<std::string> profiles = shipped_compute_profiles().names();
  profiles.insert(profiles.begin(), "measured");
  Json profile =
      describe_file("compute_profile",
                    "compute time in modes replay and simulate: \"measured\": on this machine, before the "
                    "first replay; or name of a shipped profile or device; or path of a .json file relative "
                    "to the experiment's folder. For a device, the time is estimated",
                    profiles, R"(\.json$)");
  profile["any_of"].push_back({{"options", describe_options<EstimateOptions>()}});
  profile["default"] = profiles.front();
  out.insert(out.begin() + 2, std::move(profile));
  Json trainer =
      describe_file("trainer",
                    "in mode live, external trainer that replaces thinpipe-trainer: name of a shipped one, "
                    "or path relative to the experiment's folder (docs/trainers.md); null: none",
                    shipped_trainers().names(), R"([^/]\.[^/]*$)");
  trainer["any_of"].push_back({{"options", describe_options<OtherTrainer>()}});
  trainer["default"] = nullptr;
  out.insert(out.begin() + 3, std::move(trainer));
  Json trace =
      describe_file("file", "name of a shipped trace, or path of a file relative to the experiment's folder",
                    shipped_rate_traces().names(), R"([^/]\.[^/]*$)");
  trace["required"] = true;
  entry_of(out, "rate_trace")["options"].push_back(std::move(trace));
  entry_of(out, "network_events")["constraint"] = constraint_of_network_events();
  entry_of(out, "worker_events")["constraint"] = constraint_of_worker_events();
  const Json policy = describe_options<FailurePolicy>();
  out.push_back(
      {{"key", "on_worker_failure"},
       {"effect", "what happens when a worker crashes, hangs or cannot be reached"},
       {"any_of", {{{"type", "string"}, {"one_of", policy.at(0).at("one_of")}}, {{"options", policy}}}},
       {"default", "fail"}});
  return out;
}

const std::vector<std::string>& harness_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> out;
    for (const Json& entry : describe_harness_keys()) out.push_back(entry["key"]);
    return out;
  }();
  return keys;
}

}  // namespace thinpipe
