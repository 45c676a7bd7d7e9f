// SPDX-License-Identifier: Apache-2.0
// The emulated network of one run: built before its workers start, changed and monitored while they train,
// and judged afterwards. `thinpipe exec` uses it for commands in the workers' place.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "harness/machine/cpu_pressure.hh"
#include "harness/machine/cpu_usage.hh"
#include "harness/run/network/iteration_reports.hh"
#include "harness/run/network/link_meter.hh"
#include "harness/run/network/link_series.hh"
#include "netem/cross_traffic/cross_traffic.hh"
#include "netem/fidelity/monitor.hh"
#include "netem/kernel/wakeup_latency.hh"
#include "netem/link_captures.hh"
#include "netem/network.hh"
#include "netem/schedule_runner.hh"
#include "netem/tcp_connections.hh"

namespace thinpipe {

class LiveNetwork {
 public:
  // Builds the network, at this moment of the monotonic clock, and probes its links. `schedule` must outlive this.
  // watches_connections: whether to sample TCP for connections().
  LiveNetwork(const netem::Topology& topology, const netem::Schedule& schedule, netem::IdleCores idle_cores,
              double now_s, std::vector<netem::CrossFlow> cross_flows = {}, bool watches_connections = true);

  const netem::Network& network() const { return network_; }
  const netem::Host& host(std::int64_t rank) const;
  std::string congestion_control() const { return network_.congestion_control(); }

  // Returns the period at which to call tick(); nullopt if there is no need to.
  std::optional<std::chrono::milliseconds> tick_period() const;

  // Keeps a time series of the links in this file (LinkSeries). Without emulated links there is none.
  void keep_series(const std::filesystem::path& file, double samples_per_s);

  // Captures links from now to end(), in files in this folder.
  void capture(const netem::CaptureOptions& options, const std::filesystem::path& folder) {
    captures_.emplace(network_, options, folder);
  }

  // Counts what TCP connections do from now on, to be called just before begin(). Takes a tenth of a second.
  void begin_connections();
  // Does the same in no time, to be called just after begin() if the workers train already.
  void begin_connections_at_once();

  // Training begins at this moment of the monotonic clock: starts to meter the links, to apply the run's
  // schedule and to send the cross traffic.
  void begin(double now_s);

  // Returns when training began, by the monotonic clock: the time 0 of the series.
  double began_s() const { return links_.first().empty() ? began_s_ : links_.first().front().time_s; }

  // Takes an event of rank 0 with the run's train time, which a rate trace may follow. Throws as
  // IterationReports::take() does.
  void take(const auto& event, double now_s) {
    if (reports_) reports_->take(event, now_s);
  }

  // Marks a report of rank 0 in the series; see LinkSeries::mark.
  void mark(const char* what, std::int64_t iteration, double now_s);

  // A worker has failed, and training resumes from this train time.
  void set_back(double train_time_s) { schedule_runner_.set_back(train_time_s); }

  // Makes the changes that are due, and samples the links. `late_s`: how late the caller woke up for this
  // call. Returns the changes for the record, without iteration and train time. Throws Error if a change
  // fails.
  Json tick(double now_s, double late_s);

  // Returns the share of its cap that the busiest direction uses; see LinkMeter.
  std::optional<double> use_since_last();

  // Training has ended: stops counting the links' bytes, and the cross traffic. Only the first call has an effect.
  // Throws SystemError if cross traffic failed.
  void end();

  // Returns the scheduled changes that did not happen.
  std::vector<netem::NetworkChange> missed() const { return schedule_runner_.missed(); }

  double measured_s() const { return links_.measured_s(); }
  auto wire_bytes() const { return links_.wire_bytes(); }
  auto utilisation(double train_time_s) const { return links_.utilisation(train_time_s); }

  // After end(): returns {"from", "to", "sent_bytes", "received_bytes"} of each flow of cross traffic.
  Json cross_traffic() const;

  // After end(): returns what became of the captures.
  const std::vector<netem::LinkCapture>& captured() const { return captured_; }

  // Returns what TCP did between begin() and end(), by edge; null if no network is emulated, the kernel cannot tell, or nobody wanted
  // to know.
  Json connections() const;

  // Returns the fidelity since the network was built; null if no network is emulated. Call it once, after the
  // workers have ended: it lets the cores sleep. Probes the links again, unless the run is being stopped.
  // more: checks of what the run uses, such as its compute profile.
  Json fidelity(bool probes_again, std::vector<netem::Check> more = {});

  // See harness/machine/cpu_pressure.hh; null if no network is emulated. Of the time between begin() and end().
  Json cpu_pressure() const;

  // See IterationReports::to_json(); null if no rate trace follows train time.
  Json train_clock() const;

  // Returns {"kept_awake", "wakeup_latency": see netem/kernel/wakeup_latency.hh}; null if no network is
  // emulated.
  Json idle_cores() const;

 private:
  Json make_changes(double now_s);
  void watch_connections();

  CpuUsage machine_before_ = read_cpu_usage();  // first, so that it covers all of the network's own processes
  netem::Network network_;
  netem::ScheduleRunner schedule_runner_;
  std::optional<IterationReports> reports_;  // none if no rate trace follows train time
  LinkMeter links_;
  std::optional<netem::Monitor> monitor_;  // none if no network is emulated
  std::optional<LinkSeries> series_;       // if it was asked for
  std::optional<netem::TcpConnections> connections_;
  std::optional<netem::LinkCaptures> captures_;
  std::vector<netem::LinkCapture> captured_;
  std::vector<netem::Check> probes_;  // of the links
  CpuWaits waits_before_;
  std::optional<CpuWaits> waits_after_;
  bool kept_awake_;
  netem::WakeupLatency wakeup_latency_;  // of the controller, while the network exists
  std::vector<netem::CrossFlow> cross_flows_;
  netem::CrossTraffic cross_traffic_;
  double began_s_ = 0;
  bool ended_ = false;
};

}  // namespace thinpipe
