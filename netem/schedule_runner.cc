// SPDX-License-Identifier: Apache-2.0
#include "netem/schedule_runner.hh"

#include <algorithm>
#include <chrono>
#include <utility>

#include "netem/topology/link_names.hh"

namespace thinpipe::netem {
namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

NetworkChange planned(const NetworkEvent& event) {
  return {.at_s = event.at_s, .link = event.link, .asked = event.change, .place = event.place};
}

}  // namespace

Json to_json(const NetworkChange& change) {
  Json out = {{"at_s", change.at_s},
              {"clock", change.clock == TraceClock::train ? "train" : "wall"},
              {"link", change.link},
              {"source", change.traced ? "trace" : "event"},
              {"requested", to_json(change.asked)},
              {"confirmed_s", nullptr},
              {"confirmed_train_time_s", nullptr},
              {"applied", nullptr}};
  if (!change.confirmed_s) return out;
  out["confirmed_s"] = *change.confirmed_s;
  if (change.confirmed_train_time_s) out["confirmed_train_time_s"] = *change.confirmed_train_time_s;
  out["applied"] = Json::object();
  for (const ShapedDirection& direction : change.held)
    out["applied"][direction.name] = to_json(direction.read_back);
  for (const std::string& direction : change.switched) out["applied"][direction] = to_json(change.asked);
  return out;
}

ScheduleRunner::ScheduleRunner(Network& network, const Schedule& schedule)
    : network_(network),
      schedule_(schedule),
      links_(network.topology().links),
      caps_(network.shaping().size()) {
  note_caps();
}

void ScheduleRunner::begin(double now_s) {
  began_s_ = now_s;
  began_ = true;
}

void ScheduleRunner::set_back(double train_time_s) {
  train_clock_.stop(train_time_s);
  if (!schedule_.follows_train_time()) return;
  // The caps after this time will come again, and must not count twice in a mean.
  for (std::vector<Cap>& caps : caps_) {
    while (caps.size() > 1 && caps.back().since_train_time_s > train_time_s) caps.pop_back();
  }
  note_caps();
  if (step_ == 0) return;
  std::size_t in_force = step_ - 1;
  while (in_force > 0 && *step_s(in_force) > train_time_s) --in_force;
  if (in_force + 1 < step_) step_ = in_force;
}

// Returns the time of a step of the trace; nullopt after the last step of a trace without a period.
std::optional<double> ScheduleRunner::step_s(std::size_t step) const {
  if (!schedule_.trace) return std::nullopt;
  const RateTrace& trace = schedule_.trace->trace;
  const std::size_t repetition = step / trace.steps.size();
  if (repetition > 0 && !trace.period_s) return std::nullopt;
  return static_cast<double>(repetition) * trace.period_s.value_or(0) +
         trace.steps[step % trace.steps.size()].at_s;
}

bool ScheduleRunner::event_is_due(double now_s) const {
  return event_ < schedule_.events.size() && began_s_ + schedule_.events[event_].at_s <= now_s;
}

bool ScheduleRunner::step_is_due(double now_s) const {
  const std::optional<double> at_s = step_s(step_);
  if (!at_s) return false;
  return schedule_.follows_train_time() ? *at_s <= train_clock_.read_s(now_s) : began_s_ + *at_s <= now_s;
}

bool ScheduleRunner::is_due(double now_s) const {
  return began_ && (event_is_due(now_s) || step_is_due(now_s));
}

std::size_t ScheduleRunner::apply_due(double now_s) {
  const std::size_t before = changes_.size();
  while (is_due(now_s)) {
    // Times of different clocks cannot be ordered, so the event comes first.
    const bool event_first = event_is_due(now_s) && (!step_is_due(now_s) || schedule_.follows_train_time() ||
                                                     schedule_.events[event_].at_s <= *step_s(step_));
    event_first ? apply_event() : apply_step();
  }
  return changes_.size() - before;
}

void ScheduleRunner::apply_event() {
  const NetworkEvent& event = schedule_.events[event_++];
  apply(planned(event), event.targets);
}

void ScheduleRunner::apply_step() {
  const TraceReplay& replay = *schedule_.trace;
  const double at_s = *step_s(step_);
  const RateStep& step = replay.trace.steps[step_++ % replay.trace.steps.size()];
  apply({.at_s = at_s,
         .link = replay.link,
         .asked = {.rate_bit_per_s = step.rate_bit_per_s},
         .traced = true,
         .clock = replay.clock,
         .place = replay.place},
        replay.targets);
}

void ScheduleRunner::apply(NetworkChange change, const std::vector<DirectedLink>& targets) {
  for (const DirectedLink& directed_link : targets) {
    if (change.asked.up) {
      // Both directions of a link are targets, but the link itself changes once.
      if (directed_link.forward) network_.set_link_up(directed_link.link, *change.asked.up);
      change.switched.push_back(name_of(network_.topology(), directed_link));
      continue;
    }
    Link& link = links_[directed_link.link];
    Direction& direction = directed_link.forward ? link.forward : link.backward;
    change.asked.apply_to(direction);
    change.held.push_back(network_.reshape(directed_link, link_shape_of(direction)));
  }
  const double confirmed_s = now_s();
  change.confirmed_s = confirmed_s - began_s_;
  if (schedule_.follows_train_time()) change.confirmed_train_time_s = train_clock_.read_s(confirmed_s);
  note_caps();
  changes_.push_back(std::move(change));
}

void ScheduleRunner::note_caps() {
  const std::vector<ShapedDirection> shaping = network_.shaping();
  const double now = now_s();
  for (std::size_t i = 0; i < shaping.size(); ++i) {
    const double rate = shaping[i].up ? shaping[i].asked.rate_bit_per_s : 0;
    if (caps_[i].empty() || caps_[i].back().rate_bit_per_s != rate) {
      caps_[i].push_back(
          {.since_s = now, .since_train_time_s = train_clock_.read_s(now), .rate_bit_per_s = rate});
    }
  }
}

std::vector<NetworkChange> ScheduleRunner::missed() const {
  std::vector<NetworkChange> out;
  for (std::size_t i = event_; i < schedule_.events.size(); ++i) out.push_back(planned(schedule_.events[i]));
  return out;
}

double ScheduleRunner::mean_rate_bit_per_s(std::size_t direction, double from_s, double to_s) const {
  const std::vector<Cap>& caps = caps_.at(direction);
  if (caps.size() == 1) return caps.front().rate_bit_per_s;
  const bool by_train_time = schedule_.follows_train_time();
  if (by_train_time) {
    from_s = 0;
    to_s = train_clock_.read_s(to_s);
  }
  const auto since_s = [&](const Cap& cap) { return by_train_time ? cap.since_train_time_s : cap.since_s; };
  double bits = 0;
  for (std::size_t i = 0; i < caps.size(); ++i) {
    const double begin_s = i == 0 ? from_s : std::max(from_s, since_s(caps[i]));
    const double end_s = i + 1 == caps.size() ? to_s : std::min(to_s, since_s(caps[i + 1]));
    bits += caps[i].rate_bit_per_s * std::max(0.0, end_s - begin_s);
  }
  return to_s > from_s ? bits / (to_s - from_s) : 0;
}

}  // namespace thinpipe::netem
