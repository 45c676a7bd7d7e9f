// The emulated network of one run: built before its workers start, changed and watched while they train, and
// judged afterwards.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/machine/processor_time.hh"
#include "harness/plan/run.hh"
#include "harness/run/iteration_reports.hh"
#include "harness/run/link_meter.hh"
#include "netem/conductor.hh"
#include "netem/fidelity/monitor.hh"
#include "netem/kernel/wake_ups.hh"
#include "netem/network.hh"

namespace thinpipe {

class LiveNetwork {
 public:
  // Builds it, at this moment of the monotonic clock. `run` must outlive this.
  LiveNetwork(const Run& run, netem::IdleCores idle_cores, double now_s);

  const netem::Host& host(std::int64_t rank) const;
  std::string congestion_control() const { return network_.congestion_control(); }

  // How often tick() is to be called; nothing where there is no need to.
  std::optional<std::chrono::milliseconds> tick_period() const;

  // Training begins at this moment of the monotonic clock; from now on links are metered, and changed as the
  // run's schedule says.
  void begin(double now_s);

  // Takes an event of rank 0's, whose train time is the run's: a rate trace may follow that. Throws as
  // IterationReports::take() does.
  void take(const Json& event, double now_s);

  // A worker has failed, and training goes on from this train time.
  void set_back(double train_time_s) { conductor_.set_back(train_time_s); }

  // Makes the changes that are due, and samples the links. late_s: how long after it was due the caller woke
  // up to call this. Returns what was changed, as it is recorded but for how far training was. Throws Error
  // where a change cannot be made.
  Json tick(double now_s, double late_s);

  // The share of its cap that the busiest direction uses; see LinkMeter.
  std::optional<double> use_since_last();

  // Training is over: the links' bytes count no further. Once.
  void end();

  // What the schedule has that did not happen.
  std::vector<netem::NetworkChange> missed() const { return conductor_.missed(); }

  double measured_s() const { return links_.measured_s(); }
  Json wire_bytes() const { return links_.wire_bytes(); }
  Json utilisation(double train_time_s) const { return links_.utilisation(train_time_s); }

  // Of the time since it was built; null where no network is emulated. Once, when its workers have ended:
  // lets processors sleep.
  Json fidelity();

  // See IterationReports::to_json(); null where no rate trace follows train time.
  Json train_clock() const;

  // {"kept_awake", "wake_ups": see netem/kernel/wake_ups.hh}; null where no network is emulated.
  Json idle_cores() const;

 private:
  Json make_changes(double now_s);

  netem::Network network_;
  netem::Conductor conductor_;
  std::optional<IterationReports> reports_;  // none where no rate trace follows train time
  LinkMeter links_;
  std::optional<netem::Monitor> monitor_;  // none where no network is emulated
  ProcessorTime machine_before_;
  bool kept_awake_;
  netem::WakeUps wake_ups_;  // of the controller, while the network stood
  bool ended_ = false;
};

}  // namespace thinpipe
