// SPDX-License-Identifier: Apache-2.0
#include "harness/simulation/mail.hh"

#include <utility>

namespace thinpipe {

Mail::Mail(const netem::Topology& topology, std::size_t workers, Timers& timers, MailWork work,
           std::function<void(const Message&)> arrive, std::function<void(std::size_t from)> departed)
    : network_(topology),
      workers_(workers),
      timers_(timers),
      work_(work),
      arrive_(std::move(arrive)),
      departed_(std::move(departed)) {}

void Mail::send(const Message& message) {
  std::deque<Message>& queue = departures_[pair(message.from, message.to)].queue;
  queue.push_back(message);
  if (queue.size() == 1) set_out(message);
}

void Mail::send_when_ready(const Message& message) {
  Readiness& readiness = readiness_[pair(message.from, message.to)];
  if (readiness.times > 0) {
    --readiness.times;
    send(message);
  } else {
    readiness.waiting.push_back(message);
    if (message.is_point_to_point) notify(message.from, message.to, Message::Content::request, message.call);
  }
}

void Mail::notify(std::size_t from, std::size_t to, Message::Content content, std::size_t call) {
  send({.from = from, .to = to, .content = content, .call = call});
}

bool Mail::has_departed(std::size_t from, std::size_t to) {
  return readiness_[pair(from, to)].waiting.empty() && departures_[pair(from, to)].queue.size() <= 1;
}

void Mail::advance(double time_s) {
  for (const std::size_t pair : network_.advance(time_s)) leave(pair);
}

// The transfer and the CPU's work for it overlap.
void Mail::set_out(const Message& message) {
  const std::size_t id = pair(message.from, message.to);
  Departure& departure = departures_.at(id);
  departure.left = 1;
  departure.latency_s = network_.start(message.from, message.to, message.bytes, id);
  if (work_.cores == nullptr || message.content != Message::Content::data) return;
  const double core_s =
      work_.costs.core_s(1.0 / message.pieces, message.bytes, network_.is_capped(message.from, message.to));
  if (core_s == 0) return;
  for (const std::size_t end : {message.from, message.to}) {
    ++departure.left;
    work_.cores->start(end, core_s / 2, Cores::Priority::network, [this, id] { leave(id); });
  }
}

// Ends the transfer of a pair's first message, or the work for it at one end.
void Mail::leave(std::size_t pair) {
  Departure& departure = departures_.at(pair);
  if (--departure.left > 0) return;
  const Message message = departure.queue.front();
  departure.queue.pop_front();
  timers_.set(timers_.now_s() + departure.latency_s, [this, message] { arrive(message); });
  if (!departure.queue.empty()) set_out(departure.queue.front());
  departed_(message.from);
}

void Mail::arrive(const Message& message) {
  if (message.content == Message::Content::ready) {
    Readiness& readiness = readiness_[pair(message.to, message.from)];
    if (readiness.waiting.empty()) {
      ++readiness.times;
    } else {
      send(readiness.waiting.front());
      readiness.waiting.pop_front();
    }
  }
  arrive_(message);
}

}  // namespace thinpipe
