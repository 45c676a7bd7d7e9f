// SPDX-License-Identifier: Apache-2.0
// A network as pipes in which messages flow like a fluid. Messages in flight share each capped direction of a
// link max-min fairly, and what a cap's burst still holds passes at once. Acknowledgements take their share of the caps on
// the way back. Nothing else takes time except the links' delays and, for a message that exceeds the bursts, one frame's
// wait at each cap.
// Pure.
//
// Messages whose paths cross the same caps form a class and have the same rate, so that the time to find the
// next completion depends on the number of classes, not of messages. Max-min fairness: Bertsekas and
// Gallager, Data Networks (1992), section 6.5.2.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <vector>

#include "netem/topology/topology.hh"

namespace thinpipe {

class FluidNetwork {
 public:
  // Over a loopback topology, every message arrives at once.
  explicit FluidNetwork(const netem::Topology& topology);

  // Returns how long a message between two hosts, given by their indices, takes beyond its sending: the links' delays
  // and one frame's wait at each cap.
  double latency_s(std::size_t from, std::size_t to) const { return pair(from, to).latency_s; }

  // Returns whether the path between two hosts crosses a cap.
  bool is_capped(std::size_t from, std::size_t to) const {
    return !classes_[pair(from, to).message_class].caps.empty();
  }

  // Starts a message; the caller chooses `id`. Returns what it takes beyond its sending, which is the delays alone if
  // the bursts carry all of it.
  double start(std::size_t from, std::size_t to, double payload_bytes, std::size_t id);

  // Returns the time until the next message has been sent; infinity if none is in flight.
  double next_completion_s();

  // Advances time, at most to the next completion. Returns the ids of the messages that have been sent.
  std::vector<std::size_t> advance(double time_s);

 private:
  struct Sent {
    double level;  // the level of its class at which it has been sent
    std::size_t id;
    bool operator>(const Sent& other) const {
      return level > other.level || (level == other.level && id > other.id);
    }
  };
  struct Class {
    std::vector<std::size_t> caps = {};
    std::vector<std::size_t> caps_back = {};  // of acknowledgements
    double level = 0;                         // bytes sent so far by a message that started at level 0
    double rate = std::numeric_limits<double>::infinity();  // bytes per second of each message
    std::priority_queue<Sent, std::vector<Sent>, std::greater<>> messages = {};
  };
  struct Pair {
    std::size_t message_class = 0;
    double delay_s = 0;    // of the links
    double latency_s = 0;  // with the frames' waits
  };
  // One direction of a link, in payload bytes.
  struct Cap {
    double bytes_per_s = 0;
    double burst_bytes = 0;
    double credit_bytes = burst_bytes;        // what may pass at once now
    double unused_bytes_per_s = bytes_per_s;  // by the messages in flight
  };

  const Pair& pair(std::size_t from, std::size_t to) const { return pairs_[from * hosts_ + to]; }
  static Cap cap_of(const netem::Direction& direction);
  void share();
  void fill();

  std::size_t hosts_;
  std::vector<Cap> caps_;
  double acknowledgements_ = 0;  // bytes per byte of a message, as payload counts at a cap
  std::vector<Class> classes_;
  std::vector<Pair> pairs_;  // by sender, then by receiver
  bool is_shared_ = true;    // whether rates are up to date
};

}  // namespace thinpipe
