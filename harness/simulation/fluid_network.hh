// A network as pipes in which messages flow like a fluid: those under way share each capped direction of a
// link max-min fairly, and nothing else takes time but the links' delays and a frame's wait at each cap.
// Pure.
//
// Messages whose ways lead through the same caps are one class and have one rate, so that finding out who is
// through next takes as long as there are classes, not messages. Max-min fairness: Bertsekas and Gallager,
// Data Networks (1992), section 6.5.2.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <vector>

#include "netem/topology.hh"

namespace thinpipe {

class FluidNetwork {
 public:
  // Over a loopback everything arrives at once.
  explicit FluidNetwork(const netem::Topology& topology);

  // What a message of no length takes between two hosts, by their indices.
  double latency_s(std::size_t from, std::size_t to) const { return pair(from, to).latency_s; }

  // A message sets out; `id` is the caller's.
  void start(std::size_t from, std::size_t to, double payload_bytes, std::size_t id);

  // How long until the next message has been sent; infinity where none is under way.
  double next_completion_s();

  // Time passes, no more than until the next completion. Returns the messages that have been sent.
  std::vector<std::size_t> advance(double time_s);

 private:
  struct Sent {
    double level;  // of its class, at which it has been sent
    std::size_t id;
    bool operator>(const Sent& other) const {
      return level > other.level || (level == other.level && id > other.id);
    }
  };
  struct Class {
    std::vector<std::size_t> caps;
    double level = 0;  // bytes that each message has behind it that has been under way from the beginning
    double rate = std::numeric_limits<double>::infinity();  // bytes a second of each message
    std::priority_queue<Sent, std::vector<Sent>, std::greater<>> messages = {};
  };
  struct Pair {
    std::size_t message_class = 0;
    double latency_s = 0;
  };

  const Pair& pair(std::size_t from, std::size_t to) const { return pairs_[from * hosts_ + to]; }
  void share();

  std::size_t hosts_;
  std::vector<double> capacities_;  // of each cap, payload bytes a second
  std::vector<Class> classes_;
  std::vector<Pair> pairs_;  // by host, then by host
  bool is_shared_ = true;    // rates are right
};

}  // namespace thinpipe
