// SPDX-License-Identifier: Apache-2.0
// The messages between simulated workers: those of a pair follow each other, as over one connection, through a fluid
// network, and take the CPU's work at both ends. Some leave when their receiver is ready. Pure.
#pragma once

#include <deque>
#include <functional>
#include <map>

#include "harness/simulation/fluid_network.hh"
#include "harness/simulation/machine_model.hh"
#include "harness/simulation/shared_cores.hh"
#include "harness/simulation/timers.hh"

namespace thinpipe {

// A message, from its sending to its arrival.
struct Message {
  enum class Content {
    data,
    ready,   // the sender waits for a message from the receiver
    request  // the sender has a point-to-point message; who takes such messages answers that it is ready
  };

  std::size_t from = 0;
  std::size_t to = 0;
  double bytes = 0;
  bool is_point_to_point = false;
  int pieces = 1;  // of the message that this is a piece of
  Content content = Content::data;
  std::size_t call = 0;  // of a point-to-point message and its request: the number of the sender's call
};

// The cores on which messages take time, if there are any, and how much.
struct MailWork {
  SharedCores* cores = nullptr;
  CommunicationCosts costs = {};
};

class Mail {
 public:
  // `timers` must outlive this. arrive: takes data, requests and, when the message for which it lets leave has left,
  // readiness. departed: takes the sender of a message that has left.
  Mail(const netem::Topology& topology, std::size_t workers, Timers& timers, MailWork work,
       std::function<void(const Message&)> arrive, std::function<void(std::size_t from)> departed);

  // Sends a message after the earlier ones of its pair.
  void send(const Message& message);

  // Sends a message once its receiver is ready for one more. Asks it, if the message is from point to point.
  void send_when_ready(const Message& message);

  // Sends a notice. It takes the way of all messages, but no work: that is part of the work for the messages that it
  // announces.
  void notify(std::size_t from, std::size_t to, Message::Content content, std::size_t call = 0);

  // Returns whether no message of a pair waits, for its receiver or for others before it. One may be on its way.
  bool has_departed(std::size_t from, std::size_t to);

  // Returns the time until the next message has been sent; infinity if none is in flight.
  double next_completion_s() { return network_.next_completion_s(); }

  // Advances the network, at most to the next completion, after `timers`.
  void advance(double time_s);

 private:
  // A pair's messages that have left or wait for the one before them; the first one's transfer or CPU time is not over.
  struct Departure {
    std::deque<Message> queue = {};
    int left = 0;          // of the transfer and the work at both ends, for the first message
    double latency_s = 0;  // of the first message, after these
  };
  // A pair's messages that wait for their receiver, or how many more it waits for.
  struct Readiness {
    int times = 0;  // that the receiver was ready without a message that waits
    std::deque<Message> waiting = {};
  };

  std::size_t pair(std::size_t from, std::size_t to) const { return from * workers_ + to; }
  void set_out(const Message& message);
  void leave(std::size_t pair);
  void arrive(const Message& message);

  FluidNetwork network_;
  std::size_t workers_;
  Timers& timers_;
  MailWork work_;
  std::function<void(const Message&)> arrive_;
  std::function<void(std::size_t)> departed_;
  std::map<std::size_t, Departure> departures_;  // by pair
  std::map<std::size_t, Readiness> readiness_;   // by pair
};

}  // namespace thinpipe
