// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/network_measuring.hh"

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include <spdlog/spdlog.h>
#include <unistd.h>

#include "common/support/log.hh"
#include "trainer/collectives/backends/gloo.hh"
#include "trainer/collectives/transport/network_interface.hh"
#include "trainer/collectives/transport/pair_order.hh"
#include "trainer/collectives/transport/pair_speed.hh"
#include "trainer/collectives/transport/peer_connections.hh"
#include "trainer/training/heartbeat.hh"

namespace thinpipe::trainer {
namespace {

// Of the time for a pair in one direction. Shorter measurements end before TCP knows the path.
constexpr double min_direction_s = 0.1;
constexpr double max_direction_s = 1;
// Of the whole time; the rest is for round trips, and for what the last messages take.
constexpr double share_for_rates = 0.75;
constexpr double share_for_round_trips = 0.2;

std::string name_of_this_machine() {
  std::array<char, 256> name{};
  system_call("read this machine's name", ::gethostname(name.data(), name.size() - 1));
  return name.data();
}

class Measurement {
 public:
  Measurement(const MeasureFile& file, Collective& group, std::map<int, Peer>& peers, double timeout_s)
      : group_(group),
        peers_(peers),
        timeout_s_(timeout_s),
        out_{.received_bit_per_s = std::vector<double>(file.world_size),
             .round_trips_s = std::vector<double>(file.world_size)} {
    PairOrder pairs = order_of_pairs(file.world_size, true);
    if (direction_s(file, pairs) < min_direction_s) pairs = order_of_pairs(file.world_size, false);
    const double each_s = std::clamp(direction_s(file, pairs), min_direction_s, max_direction_s);
    const double round_trips_s = file.max_s * share_for_round_trips / directions(pairs);
    for (const auto& at_a_time : pairs) {
      out_.pairs_at_a_time = std::max(out_.pairs_at_a_time, std::ssize(at_a_time));
      for (const auto& [lower, higher] : at_a_time) {
        if (group_.rank() == lower) measure(higher, true, each_s, round_trips_s);
        if (group_.rank() == higher) measure(lower, false, each_s, round_trips_s);
      }
      group_.barrier();
    }
  }

  event::MeasuredNetwork take() { return std::move(out_); }

 private:
  // Returns how many measurements follow each other; at least one, for a worker alone.
  static double directions(const PairOrder& pairs) {
    return std::max(1.0, 2 * static_cast<double>(pairs.size()));
  }

  static double direction_s(const MeasureFile& file, const PairOrder& pairs) {
    return file.max_s * share_for_rates / directions(pairs);
  }

  // One of the pair is first in everything.
  void measure(int other, bool is_first, double direction_s, double round_trips_s) {
    Peer& peer = peers_.at(other);
    const auto index = static_cast<std::size_t>(other);
    for (const bool own_turn : {is_first, !is_first}) {
      if (own_turn) {
        out_.round_trips_s[index] = measure_round_trip_s(peer, round_trips_s, timeout_s_);
        send_for(peer, direction_s, timeout_s_);
      } else {
        answer_round_trips(peer, timeout_s_);
        out_.received_bit_per_s[index] = measure_received_bit_per_s(peer, direction_s, timeout_s_);
      }
    }
  }

  Collective& group_;
  std::map<int, Peer>& peers_;
  double timeout_s_;
  event::MeasuredNetwork out_;
};

event::MeasuredNetwork measure(const MeasureFile& file) {
  const NetworkInterface chosen = find_interface(file.network_interface);
  const InterfaceBytes before = bytes_of_interface(chosen.name);
  const GlooOptions options;
  const auto group = make_gloo(options, {.rank = file.rank,
                                         .world_size = file.world_size,
                                         .address = chosen.address,
                                         .rendezvous_directory = file.rendezvous_directory,
                                         .rendezvous_addresses = file.rendezvous_addresses});
  std::vector<int> others;
  for (int rank = 0; rank < file.world_size; ++rank) {
    if (rank != file.rank) others.push_back(rank);
  }
  std::map<int, Peer> peers = connect_peers(*group, chosen.address, others, options.timeout_s);
  event::MeasuredNetwork out = Measurement(file, *group, peers, options.timeout_s).take();
  const InterfaceBytes after = bytes_of_interface(chosen.name);
  out.node = name_of_this_machine();
  out.network_interface = chosen.name;
  out.address = chosen.address;
  out.connected_bit_per_s = connected_bit_per_s(chosen.name);
  out.sent_bytes_before = before.sent;
  out.received_bytes_before = before.received;
  out.sent_bytes_after = after.sent;
  out.received_bytes_after = after.received;
  return out;
}

}  // namespace

bool measure_network(const MeasureFile& file, const EventSink& events) {
  spdlog::set_default_logger(make_log_to_standard_error(file.log_level));
  WorkerStatus worker_status;
  const Heartbeat heartbeat(worker_status, events);
  events(event::Started{.pid = ::getpid(), .libraries = library_versions()});
  try {
    events(measure(file));
    events(event::Finished{});
    return true;
  } catch (const std::exception& error) {
    report_failure(events, error);
    return false;
  }
}

}  // namespace thinpipe::trainer
