// The planned changes of a network during a run: timed events, and a trace of rates. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "netem/topology/routes.hh"
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
  double at_s = 0;                     // after training began
  std::string link = {};               // as the user names it: "left-middle", "left->middle", "bottlenecks"
  std::vector<Crossing> targets = {};  // the directions that `link` names
  Change change = {};
  Place place = {};  // where the user wrote it
};

// The clock of a trace's times: train time, which stands still while the workers evaluate, or the monotonic
// clock.
enum class TraceClock { train, wall };

// A trace of rates and the directions on which it is replayed from the moment training begins.
struct TraceReplay {
  std::string link = {};
  std::vector<Crossing> targets = {};
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

// Returns the file of the trace that the user named. Throws InputError at the place.
using TraceFinder = std::function<std::string(const std::string& name, const Place& place)>;

// Reads and checks members "network_events" and "rate_trace" of a run's configuration:
//   "network_events": [{"at": "10 s", "link": "left-middle", "rate": "50 Mbit/s"},
//                      {"at": "20 s", "link": "left-middle", "state": "down"}, …]   (or "delay", "loss")
//   "rate_trace": {"link": "bottlenecks", "file": "…", "period": "60 s", "clock": "train"}   (or "wall")
// Throws InputError naming place, rule and remedy, also if the two contradict each other or the topology.
Schedule read_schedule(JsonObject& config, const Topology& topology, const TraceFinder& find_trace);

// Return the normalised members, or null if they are absent. The steps of the trace's file are not included.
Json events_to_json(const Schedule& schedule);
Json trace_to_json(const Schedule& schedule);

// Calls `visit` with the states, other than the topology's own, that shaped directions will have. They cover
// every burst, queue and impairment, but not every combination. `place`: where the user wrote the change.
void visit_states(const Topology& topology, const Schedule& schedule,
                  const std::function<void(const Crossing&, const Direction&, const Place&)>& visit);

}  // namespace thinpipe::netem
