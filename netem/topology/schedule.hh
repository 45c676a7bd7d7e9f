// SPDX-License-Identifier: Apache-2.0
// The planned changes of a network during a run: timed events, and a trace of rates. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/support/options.hh"
#include "netem/topology/shortest_paths.hh"
#include "netem/topology/topology.hh"
#include "netem/topology/trace.hh"

namespace thinpipe::netem {

// A change of a link; absent members stay as they are.
struct Change {
  std::optional<double> rate_bit_per_s = {};
  std::optional<double> delay_s = {};
  std::optional<double> loss = {};
  std::optional<bool> up = {};

  void apply_to(Direction& direction) const;
};

// {"rate_bit_per_s", "delay_s", "loss", "state"}: the members that the change has.
Json to_json(const Change& change);

struct NetworkEvent {
  double at_s = 0;        // after training began
  std::string link = {};  // as the user names it: "left-middle", "left->middle", "bottlenecks"
  std::vector<DirectedLink> targets = {};  // the directions that `link` names
  Change change = {};
  Place place = {};  // where the user wrote it
};

// The clock of a trace's times: train time, which stands still while the workers evaluate, or the monotonic
// clock.
enum class TraceClock { train, wall };

// A trace of rates and the directions on which it is replayed from the moment training begins.
struct TraceReplay {
  std::string link = {};
  std::vector<DirectedLink> targets = {};
  std::string file = {};                // as the user wrote it
  std::optional<double> period_s = {};  // as the user wrote it
  TraceClock clock = TraceClock::train;
  RateTrace trace = {};
  Place place = {};
};

struct Schedule {
  std::vector<NetworkEvent> events = {};  // in the order of their times
  std::optional<TraceReplay> trace = {};

  bool empty() const { return events.empty() && !trace; }
  bool follows_train_time() const { return trace && trace->clock == TraceClock::train; }
};

// An event as an experiment describes it: {"at": "10 s", "link": "left-middle", "rate": "50 Mbit/s"}.
struct NetworkEventOptions {
  double at_s = 0;
  std::string link = {};
  Change change = {};  // without `up`
  std::optional<std::string> state = {};

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
    field("rate", change.rate_bit_per_s,
          Rule{.effect = "the cap from then on",
               .quantity = Quantity::rate,
               .at_least = min_rate_bit_per_s,
               .at_most = max_rate_bit_per_s});
    field("delay", change.delay_s,
          Rule{.effect = "the delay from then on",
               .quantity = Quantity::duration,
               .at_least = 0,
               .at_most = max_delay_s});
    field("loss", change.loss,
          Rule{.effect = "fraction of frames that are lost from then on", .at_least = 0, .below = 1});
    field("state", state,
          Rule{.effect = "takes both directions down, or up again; must be alone in its event",
               .one_of = {"up", "down"}});
  }
};

// A trace as an experiment describes it: {"link": "bottlenecks", "file": "…", "period": "60 s"}.
struct RateTraceOptions {
  std::string link = {};
  std::string file = {};
  std::optional<double> period_s = {};
  std::string clock = "train";

  void visit(auto& field) {
    field("link", link,
          Rule{.effect = "link whose rate follows the trace, as in network_events", .required = true});
    field("file", file,
          Rule{.effect = "name of a shipped trace, or path of a file relative to the experiment's folder",
               .required = true});
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

struct ScheduleOptions {
  std::vector<NetworkEventOptions> network_events = {};
  std::optional<RateTraceOptions> rate_trace = {};

  void visit(auto& field) {
    field("network_events", network_events, Rule{.effect = "changes of the network during the run"});
    field("rate_trace", rate_trace,
          Rule{.effect = "trace of rates that a link follows during the run; null: none"});
  }
};

// Returns the file of the trace that the user named. Throws InputError at the place.
using TraceFinder = std::function<std::string(const std::string& name, const Place& place)>;

// Finds the links and the trace's file. `place` is that of the object with the options. Throws InputError
// naming place, rule and remedy, also if events and trace contradict each other or the topology.
Schedule make_schedule(const ScheduleOptions& options, const Place& place, const Topology& topology,
                       const TraceFinder& find_trace);

// Return the normalised members, or null if they are absent. The steps of the trace's file are not included.
Json events_to_json(const Schedule& schedule);
Json trace_to_json(const Schedule& schedule);

// Calls `visit` with the states, other than the topology's own, that shaped directions will have. They cover
// every burst, queue and impairment, but not every combination. `place`: where the user wrote the change.
void visit_states(const Topology& topology, const Schedule& schedule,
                  const std::function<void(const DirectedLink&, const Direction&, const Place&)>& visit);

}  // namespace thinpipe::netem
