// Changes a network during a run, as its schedule says, and records every change.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "netem/network.hh"
#include "netem/schedule.hh"

namespace thinpipe::netem {

// One entry of the schedule and its outcome. Times are seconds since training began.
struct NetworkChange {
  double at_s = 0;  // when it was due
  std::string link = {};
  Change asked = {};
  bool traced = false;  // a step of the rate trace, not an event
  // When it was read back from the kernel; nullopt: it never happened.
  std::optional<double> confirmed_s = {};
  // The directions as the kernel then held them; empty for "up" and "down".
  std::vector<ShapedDirection> held = {};
  Place place = {};  // where the user asked for it
};

// {"at_s", "link", "source": "event" or "trace", "asked", "confirmed_s", "held"}
Json to_json(const NetworkChange& change);

class Conductor {
 public:
  // Both must outlive this.
  Conductor(Network& network, const Schedule& schedule);

  // Training begins at this moment of the monotonic clock, in seconds; nothing changes before.
  void begin(double now_s);

  // Returns true if a change is due by this moment.
  bool is_due(double now_s) const;

  // Makes every change that is due, in order, and reads each back. Returns their number. Throws Error if the
  // kernel refuses one or holds something else.
  std::size_t apply_due(double now_s);

  // Returns the changes made so far, in order.
  const std::vector<NetworkChange>& changes() const { return changes_; }

  // Returns the events that have not happened.
  std::vector<NetworkChange> missed() const;

  // Returns the mean cap of a direction, by its index in Network::counters, between two moments of the
  // monotonic clock; a link that is down counts as 0. Returns 0 if no time lies between the two.
  double mean_rate_bit_per_s(std::size_t direction, double from_s, double to_s) const;

 private:
  struct Cap {
    double since_s;
    double rate_bit_per_s;
  };

  std::optional<double> next_event_s() const;
  std::optional<double> next_step_s() const;
  void apply(NetworkChange change, const std::vector<Crossing>& targets);
  void note_caps();

  Network& network_;
  const Schedule& schedule_;
  std::vector<Link> links_;  // as they are now
  double began_s_ = 0;
  bool began_ = false;
  std::size_t event_ = 0;  // the next one
  std::size_t step_ = 0;   // of the trace, the next one
  double cycle_s_ = 0;     // when its present repetition began, after training did
  std::vector<NetworkChange> changes_;
  std::vector<std::vector<Cap>> caps_;  // by direction
};

}  // namespace thinpipe::netem
