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
        Rule{.effect = "what may pass at once after idling, as a time at the cap, but at least 4000 bytes: a "
                       "longer one takes less processor time, and makes short messages early; null: the "
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
          Rule{.effect = "when, counted from the first evaluation",
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
          Rule{.effect = "the share of frames that vanish from then on", .at_least = 0, .below = 1});
    field("state", state,
          Rule{.effect = "takes both directions down, or up again; alone in its event",
               .one_of = {"up", "down"}});
  }
};

struct RateTraceOptions {
  std::string link;
  std::optional<double> period_s;
  std::string clock = "train";

  void visit(auto& field) {
    field("link", link, Rule{.effect = "where the trace is replayed", .required = true});
    field("period", period_s,
          Rule{.effect = "the trace begins anew so often; null: its last rate stays",
               .quantity = Quantity::duration,
               .above = 0});
    field("clock", clock,
          Rule{.effect = "what its times are of: train: train time, so that it stands still while workers "
                         "evaluate; wall: the clock, from the first evaluation on",
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
          Rule{.effect = "when, counted from the first evaluation",
               .quantity = Quantity::duration,
               .at_least = 0});
    field("at_iteration", at_iteration,
          Rule{.effect = "when so many iterations have ended; null for a slowdown: from the first on",
               .at_least = 0});
    field("action", action,
          Rule{.effect = "what befalls its process", .one_of = {"kill", "pause", "resume"}});
    field("slowdown", slowdown,
          Rule{.effect = "its computing takes so many times as long from then on", .at_least = 1});
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
        Rule{.effect = "live: train over the emulated network, by the clock; converge: all workers in one "
                       "process, without a network and without times, to see what a method does to learning; "
                       "replay: such a training's communication over the emulated network, by the clock; "
                       "simulate: the same over a model of the network, by arithmetic",
             .one_of = {"live", "converge", "replay", "simulate"}});
    field("bottleneck", bottleneck,
          Rule{.effect = "what the topology's bottlenecks have instead of their own; null: their own"});
    field("workers", workers,
          Rule{.effect = "trainer processes, on the topology's first hosts; null: one on each host, or 8 in "
                         "mode converge",
               .at_least = 1});
    field("network_events", network_events, Rule{.effect = "changes of the network during the run"});
    field("rate_trace", rate_trace,
          Rule{.effect = "rates that the bottlenecks follow during the run; null: none"});
    field("worker_events", worker_events, Rule{.effect = "what befalls workers during the run"});
  }
};

// A shipped file by its name, or a path.
Json describe_file(const char* key, const char* effect, const std::vector<std::string>& names,
                   const char* pattern) {
  return {{"key", key},
          {"effect", effect},
          {"any_of", {{{"type", "string"}, {"one_of", names}}, {{"type", "string"}, {"pattern", pattern}}}}};
}

Json& entry_of(Json& description, const std::string& key) {
  return *std::ranges::find_if(description, [&key](const Json& entry) { return entry["key"] == key; });
}

// An event changes something, and nothing else beside the state.
Json constraint_of_network_events() {
  Json changes = Json::array();
  for (const char* key : {"rate", "delay", "loss"}) changes.push_back({{"required", Json::array({key})}});
  const Json reshapes = {{"anyOf", changes}};
  return {{"if", {{"required", Json::array({"state"})}}}, {"then", {{"not", reshapes}}}, {"else", reshapes}};
}

// An action has one time; a slowdown begins with an iteration.
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
                    "the network: a shipped one by its name, or the path of a .json file from the "
                    "experiment's folder",
                    shipped_topologies().names(), R"(\.json$)");
  topology["default"] = "three-switch";
  out.insert(out.begin() + 1, std::move(topology));
  std::vector<std::string> profiles = shipped_compute_profiles().names();
  profiles.insert(profiles.begin(), "measured");
  Json profile =
      describe_file("compute_profile",
                    "of modes replay and simulate, how long computing takes: \"measured\" here, before "
                    "the first replay; a shipped profile or device by its name; or the path of a .json "
                    "file from the experiment's folder. For a device it is estimated",
                    profiles, R"(\.json$)");
  profile["any_of"].push_back({{"options", describe_options<EstimateOptions>()}});
  profile["default"] = profiles.front();
  out.insert(out.begin() + 2, std::move(profile));
  Json trainer =
      describe_file("trainer",
                    "of mode live, a program that trains in thinpipe-trainer's place: a shipped one by its "
                    "name, or the path of one from the experiment's folder (docs/trainers.md); null: none",
                    shipped_trainers().names(), R"([^/]\.[^/]*$)");
  trainer["any_of"].push_back({{"options", describe_options<OtherTrainer>()}});
  trainer["default"] = nullptr;
  out.insert(out.begin() + 3, std::move(trainer));
  Json trace =
      describe_file("file", "a shipped trace by its name, or the path of a file from the experiment's folder",
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
