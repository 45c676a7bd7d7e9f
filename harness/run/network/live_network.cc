// SPDX-License-Identifier: Apache-2.0
#include "harness/run/network/live_network.hh"

#include <algorithm>
#include <iterator>
#include <thread>

#include <fmt/format.h>

#include "netem/fidelity/link_probe.hh"

namespace thinpipe {

LiveNetwork::LiveNetwork(const netem::Topology& topology, const netem::Schedule& schedule,
                         netem::IdleCores idle_cores, double now_s, std::vector<netem::CrossFlow> cross_flows,
                         bool watches_connections)
    : network_(topology, schedule, idle_cores),
      schedule_runner_(network_, schedule),
      links_(network_, schedule_runner_),
      probes_(netem::probe_links(network_, "before training")),
      waits_before_(read_cpu_waits()),  // before workers start: they must not inherit its files
      kept_awake_(network_.keeps_cores_awake()),
      cross_flows_(std::move(cross_flows)),
      cross_traffic_(network_, cross_flows_) {
  if (topology.is_emulated()) monitor_.emplace(network_);
  links_.begin();  // the probes' bytes do not count
  if (monitor_ && watches_connections) watch_connections();
  if (schedule.follows_train_time()) reports_.emplace(schedule_runner_.train_clock(), now_s);
}

const netem::Host& LiveNetwork::host(std::int64_t rank) const {
  return network_.hosts().at(static_cast<std::size_t>(rank));
}

std::optional<std::chrono::milliseconds> LiveNetwork::tick_period() const {
  return monitor_ ? std::optional<std::chrono::milliseconds>(netem::Monitor::sampling_period) : std::nullopt;
}

void LiveNetwork::watch_connections() {
  try {
    connections_.emplace(network_);
    connections_->begin();
  } catch (const netem::NetlinkError& error) {
    connections_.reset();
    if (error.code() != -NLE_OBJ_NOTFOUND) throw;  // otherwise, the kernel has no tcp_diag
  }
}

void LiveNetwork::keep_series(const std::filesystem::path& file, double samples_per_s) {
  if (monitor_) series_.emplace(file, samples_per_s, links_.first());
}

void LiveNetwork::mark(const char* what, std::int64_t iteration, double now_s) {
  if (series_) series_->mark(what, iteration, now_s);
}

void LiveNetwork::begin_connections() {
  if (connections_) connections_->begin();
}

void LiveNetwork::begin_connections_at_once() {
  if (connections_) connections_->begin_at_once();
}

void LiveNetwork::begin(double now_s) {
  began_s_ = now_s;
  waits_before_ = read_cpu_waits();
  links_.begin();
  if (series_) series_->restart(links_.first());
  schedule_runner_.begin(now_s);
  cross_traffic_.begin();
}

Json LiveNetwork::tick(double now_s, double late_s) {
  Json changes = Json::array();
  if (!monitor_) return changes;
  wakeup_latency_.add(late_s);
  if (schedule_runner_.is_due(now_s)) changes = make_changes(now_s);
  const std::vector<netem::LinkCounters> reading = monitor_->sample();
  if (series_) series_->add(reading);
  if (connections_ && !ended_) connections_->sample(now_s);
  return changes;
}

Json LiveNetwork::make_changes(double now_s) {
  std::size_t changed = 0;
  try {
    monitor_->around([&] { changed = schedule_runner_.apply_due(now_s); });
  } catch (const std::exception& error) {
    throw Error(fmt::format("change the network during the run: {}", error.what()));
  }
  Json out = Json::array();
  const std::vector<netem::NetworkChange>& changes = schedule_runner_.changes();
  for (std::size_t i = changes.size() - changed; i < changes.size(); ++i) {
    out.push_back(netem::to_json(changes[i]));
  }
  return out;
}

std::optional<double> LiveNetwork::use_since_last() {
  return monitor_ ? links_.use_since_last() : std::nullopt;
}

void LiveNetwork::end() {
  if (ended_) return;
  links_.end();
  cross_traffic_.stop();  // what it sent during the following steps would count, but not on the links
  if (series_) series_->end(links_.last());
  waits_after_ = read_cpu_waits();
  if (connections_) connections_->end();
  if (captures_) captured_ = captures_->end();
  ended_ = true;
  cross_traffic_.end();
}

Json LiveNetwork::cross_traffic() const {
  Json out = Json::array();
  const std::vector<netem::CrossFlowBytes> bytes = cross_traffic_.bytes();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    out.push_back({{"from", cross_flows_[i].from},
                   {"to", cross_flows_[i].to},
                   {"sent_bytes", static_cast<std::int64_t>(bytes[i].sent)},
                   {"received_bytes", static_cast<std::int64_t>(bytes[i].received)}});
  }
  return out;
}

Json LiveNetwork::connections() const {
  if (!connections_) return nullptr;
  Json out = Json::array();
  for (const netem::TcpEdge& edge : connections_->edges()) out.push_back(netem::to_json(edge));
  return out;
}

Json LiveNetwork::fidelity(bool probes_again, std::vector<netem::Check> more) {
  if (!monitor_) return nullptr;
  std::vector<netem::Check> checks = monitor_->verdict().checks;
  std::ranges::move(more, std::back_inserter(checks));
  std::ranges::move(probes_, std::back_inserter(checks));
  if (probes_again)
    std::ranges::move(netem::probe_links(network_, "after training"), std::back_inserter(checks));
  network_.let_cores_sleep();  // before CPU time is read: waking cores is part of the run's
  checks.push_back(check_other_programs(
      share_of_others(machine_before_, read_cpu_usage(), std::thread::hardware_concurrency())));
  return netem::to_json(netem::judge(std::move(checks)));
}

Json LiveNetwork::cpu_pressure() const {
  if (!monitor_ || !waits_after_) return nullptr;
  return thinpipe::cpu_pressure(waits_before_, *waits_after_, std::thread::hardware_concurrency());
}

Json LiveNetwork::train_clock() const {
  return reports_ ? reports_->to_json() : Json(nullptr);
}

Json LiveNetwork::idle_cores() const {
  if (!monitor_) return nullptr;
  return {{"kept_awake", kept_awake_}, {"wakeup_latency", wakeup_latency_.to_json()}};
}

}  // namespace thinpipe
