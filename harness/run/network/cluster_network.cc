// SPDX-License-Identifier: Apache-2.0
#include "harness/run/network/cluster_network.hh"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "common/protocol/run_token.hh"
#include "common/protocol/worker_file.hh"
#include "harness/records/record.hh"
#include "netem/topology/frame.hh"
#include "netem/topology/measured_topology.hh"
#include "netem/topology/reduction_tree.hh"

namespace thinpipe {

namespace fs = std::filesystem;

namespace {

// About what it takes. The same each time, because it decides how many pairs are measured at a time.
constexpr double measurement_s = 40;
constexpr double steady_within = 0.1;
constexpr auto network_name = "network";  // the other end of a host's link, as utilisation names it

Allocation allocation_for(const Run& run) {
  auto found = Allocation::find();
  if (!found)
    throw Error(
        "find the machines for mode \"cluster\": this process has no Slurm job; start it with `--executor slurm`, or "
        "inside of salloc");
  const auto nodes = std::ssize(found->nodes());
  if (nodes < run.workers) {
    throw Error(fmt::format("place {} workers on a machine each: the Slurm job has {}", run.workers, nodes));
  }
  return *std::move(found);
}

// By [from][to]; `measured`: by rank.
netem::RateMatrix bit_per_s(const std::vector<event::MeasuredNetwork>& measured) {
  netem::RateMatrix out(measured.size(), std::vector<double>(measured.size(), 0));
  for (std::size_t to = 0; to < measured.size(); ++to) {
    for (std::size_t from = 0; from < measured.size(); ++from)
      out[from][to] = measured[to].received_bit_per_s[from];
  }
  return out;
}

record::MeasuredRates rates(const std::vector<event::MeasuredNetwork>& measured) {
  record::MeasuredRates out{.pairs_at_a_time = measured.front().pairs_at_a_time,
                            .bit_per_s = bit_per_s(measured)};
  for (const event::MeasuredNetwork& each : measured) out.round_trips_s.push_back(each.round_trips_s);
  return out;
}

// Returns the largest relative change of a pair's rate.
std::optional<double> largest_change(const std::vector<std::vector<double>>& before,
                                     const std::vector<std::vector<double>>& after) {
  std::optional<double> out;
  for (std::size_t from = 0; from < before.size(); ++from) {
    for (std::size_t to = 0; to < before.size(); ++to) {
      if (from == to || before[from][to] <= 0) continue;
      const double change = std::abs(after[from][to] / before[from][to] - 1);
      out = std::max(out.value_or(0), change);
    }
  }
  return out;
}

}  // namespace

ClusterNetwork::ClusterNetwork(const Run& run, fs::path folder, std::string log_level)
    : run_(run),
      folder_(std::move(folder)),
      log_level_(std::move(log_level)),
      allocation_(allocation_for(run)) {}

std::optional<Outcome> ClusterNetwork::measure_before(Executor& executor, Progress& progress,
                                                      const TimeLimits& limits) {
  Outcome outcome = measure(executor, progress, limits, before_);
  if (outcome.status != Outcome::Status::completed) return outcome;
  for (std::size_t rank = 0; rank < before_.size(); ++rank)
    hosts_.push_back({.name = run_.setting->topology.hosts.at(rank), .address = before_[rank].address});
  return std::nullopt;
}

bool ClusterNetwork::measure_after(Executor& executor, Progress& progress, const TimeLimits& limits) {
  const Outcome outcome = measure(executor, progress, limits, after_);
  const bool is_complete = outcome.status == Outcome::Status::completed;
  if (!is_complete) after_.clear();
  return is_complete;
}

Outcome ClusterNetwork::measure(Executor& executor, Progress& progress, const TimeLimits& limits,
                                Measured& out) {
  progress.wait("measuring the network");
  if (first_address_.empty() && !run_.setting->topology.meets_in_folder) {
    Outcome located = locate(executor, progress, limits);
    if (located.status != Outcome::Status::completed) return located;
  }
  return launch(executor, progress, limits, run_.workers, rendezvous_at(first_address_), out);
}

// A worker without others measures nothing, but reports its address.
Outcome ClusterNetwork::locate(Executor& executor, Progress& progress, const TimeLimits& limits) {
  Measured first;
  Outcome outcome = launch(executor, progress, limits, 1, {}, first);
  if (outcome.status == Outcome::Status::completed) first_address_ = first.front().address;
  return outcome;
}

// Ports below those that systems give out, because no other program should have them by chance.
ClusterRendezvous ClusterNetwork::rendezvous_at(const std::string& address) const {
  constexpr int ports = 4;
  constexpr int lowest_port = 20'000;
  constexpr int highest_port = 32'000;
  ClusterRendezvous out;
  out.environment.emplace_back(run_token_variable, text_of(random_run_token()));
  if (run_.setting->topology.meets_in_folder) return out;
  std::random_device random;
  std::uniform_int_distribution<int> any_port(lowest_port, highest_port);
  for (int i = 0; i < ports; ++i) out.addresses.push_back(fmt::format("{}:{}", address, any_port(random)));
  return out;
}

Outcome ClusterNetwork::launch(Executor& executor, Progress& progress, const TimeLimits& limits,
                               std::int64_t workers, const ClusterRendezvous& rendezvous, Measured& out) {
  const fs::path directory = folder_ / "rendezvous";
  fs::remove_all(directory);
  fs::create_directory(directory);
  Job job{.workers = {}, .limits = limits};
  for (int rank = 0; rank < workers; ++rank) {
    const fs::path input = folder_ / fmt::format("measure-{}.json", rank);
    write_atomically(
        input, record_text(to_json(MeasureFile{.rank = rank,
                                               .world_size = static_cast<int>(workers),
                                               .rendezvous_directory = directory.string(),
                                               .rendezvous_addresses = rendezvous.addresses,
                                               .log_level = log_level_,
                                               .network_interface = run_.setting->topology.network_interface,
                                               .max_s = measurement_s})));
    job.workers.push_back({.rank = rank,
                           .command = "measure",
                           .input = input,
                           .log = folder_ / fmt::format("measure-{}.log", rank),
                           .launcher = launcher(rank),
                           .environment = rendezvous.environment});
  }
  out.assign(static_cast<std::size_t>(workers), {});
  const auto take = [&out](std::int64_t rank, const Event& event) {
    const auto* const measured = std::get_if<event::MeasuredNetwork>(&event);
    if (measured == nullptr) return;
    const std::size_t measuring = out.size();
    if (measured->received_bit_per_s.size() != measuring || measured->round_trips_s.size() != measuring)
      throw InvalidEvent("reported a measurement of another number of workers");
    out.at(static_cast<std::size_t>(rank)) = *measured;
  };
  Outcome outcome = executor.execute(
      job, {.event = take, .tick = [&progress](WorkerControl&, Seconds) { progress.tick(); }});
  if (outcome.status == Outcome::Status::failed)
    outcome.failure->message = "measuring the network: " + outcome.failure->message;
  return outcome;
}

const std::string& ClusterNetwork::network_interface(std::int64_t rank) const {
  return before_.at(static_cast<std::size_t>(rank)).network_interface;
}

netem::Topology ClusterNetwork::topology() const {
  std::vector<std::string> names;
  for (const netem::Host& host : hosts_) names.push_back(host.name);
  return netem::topology_of(bit_per_s(before_), run_.setting->topology.name + "-measured", names);
}

std::vector<int> ClusterNetwork::reduction_tree() const {
  if (run_.reduction_tree.empty()) return {};
  return netem::reduction_tree_of(topology(), hosts_.size());
}

std::optional<record::Cluster> ClusterNetwork::report() const {
  if (before_.empty() || hosts_.empty()) return std::nullopt;
  record::Cluster out{.before = rates(before_)};
  for (std::size_t rank = 0; rank < before_.size(); ++rank) {
    out.nodes.push_back({.host = hosts_[rank].name,
                         .node = before_[rank].node,
                         .network_interface = before_[rank].network_interface,
                         .address = before_[rank].address,
                         .connected_bit_per_s = before_[rank].connected_bit_per_s});
  }
  if (!after_.empty()) {
    out.after = rates(after_);
    out.largest_change = largest_change(out.before.bit_per_s, out.after->bit_per_s);
  }
  for (const std::vector<int>& island : netem::islands_of(out.before.bit_per_s))
    out.islands.emplace_back(island.begin(), island.end());
  const std::vector<int> tree = reduction_tree();
  out.reduction_tree.assign(tree.begin(), tree.end());
  return out;
}

Json ClusterNetwork::fidelity() const {
  if (after_.empty()) return nullptr;
  const double change = largest_change(bit_per_s(before_), bit_per_s(after_)).value_or(0);
  const record::Check check{.name = "rates between workers after training",
                            .specified = fmt::format("within {:g} % of those before", 100 * steady_within),
                            .measured = fmt::format("up to {:.3g} % off", 100 * change),
                            .ok = change <= steady_within};
  return write_part(record::Fidelity{.verdict = "real", .checks = {check}});
}

std::map<std::string, ClusterNetwork::Use> ClusterNetwork::uses() const {
  std::map<std::string, Use> out;
  if (after_.empty()) return out;
  const auto rates = bit_per_s(before_);
  for (std::size_t rank = 0; rank < before_.size(); ++rank) {
    const double sends = *std::ranges::max_element(rates[rank]);
    double receives = 0;
    for (const auto& from : rates) receives = std::max(receives, from[rank]);
    const std::string& host = hosts_[rank].name;
    out[netem::direction_name(host, network_name)] = {
        .bytes = after_[rank].sent_bytes_before - before_[rank].sent_bytes_after,
        .wire_bit_per_s = sends / netem::goodput_of_cap};
    out[netem::direction_name(network_name, host)] = {
        .bytes = after_[rank].received_bytes_before - before_[rank].received_bytes_after,
        .wire_bit_per_s = receives / netem::goodput_of_cap};
  }
  return out;
}

std::map<std::string, std::optional<std::int64_t>> ClusterNetwork::wire_bytes() const {
  std::map<std::string, std::optional<std::int64_t>> out;
  for (const auto& [direction, use] : uses()) out[direction] = use.bytes;
  return out;
}

std::map<std::string, std::optional<double>> ClusterNetwork::utilisation(double train_time_s) const {
  constexpr double bits_per_byte = 8;
  std::map<std::string, std::optional<double>> out;
  for (const auto& [direction, use] : uses()) {
    const double capacity_bytes = use.wire_bit_per_s * train_time_s / bits_per_byte;
    out[direction] =
        capacity_bytes > 0 ? std::optional(static_cast<double>(use.bytes) / capacity_bytes) : std::nullopt;
  }
  return out;
}

}  // namespace thinpipe
