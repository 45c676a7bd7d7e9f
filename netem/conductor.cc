#include "netem/conductor.hh"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

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
              {"link", change.link},
              {"source", change.traced ? "trace" : "event"},
              {"asked", to_json(change.asked)},
              {"confirmed_s", nullptr},
              {"held", nullptr}};
  if (!change.confirmed_s) return out;
  out["confirmed_s"] = *change.confirmed_s;
  out["held"] = change.asked.up ? to_json(change.asked) : Json::object();
  for (const ShapedDirection& direction : change.held) {
    out["held"][direction.name] = to_json(direction.read_back);
  }
  return out;
}

Conductor::Conductor(Network& network, const Schedule& schedule)
    : network_(network),
      schedule_(schedule),
      links_(network.topology().links),
      caps_(network.shaping().size()) {
  note_caps();
}

void Conductor::begin(double now_s) {
  began_s_ = now_s;
  began_ = true;
}

std::optional<double> Conductor::next_event_s() const {
  if (event_ == schedule_.events.size()) return std::nullopt;
  return schedule_.events[event_].at_s;
}

std::optional<double> Conductor::next_step_s() const {
  if (!schedule_.trace || step_ == schedule_.trace->trace.steps.size()) return std::nullopt;
  return cycle_s_ + schedule_.trace->trace.steps[step_].at_s;
}

bool Conductor::is_due(double now_s) const {
  if (!began_) return false;
  const auto due = [&](const std::optional<double>& at_s) { return at_s && began_s_ + *at_s <= now_s; };
  return due(next_event_s()) || due(next_step_s());
}

std::size_t Conductor::apply_due(double now_s) {
  const std::size_t before = changes_.size();
  while (is_due(now_s)) {
    constexpr double never = std::numeric_limits<double>::infinity();
    if (next_event_s().value_or(never) <= next_step_s().value_or(never)) {
      const NetworkEvent& event = schedule_.events[event_++];
      apply(planned(event), event.targets);
      continue;
    }
    const TraceReplay& replay = *schedule_.trace;
    const double at_s = *next_step_s();
    const Change change{.rate_bit_per_s = replay.trace.steps[step_++].rate_bit_per_s};
    if (step_ == replay.trace.steps.size() && replay.trace.period_s) {
      step_ = 0;
      cycle_s_ += *replay.trace.period_s;
    }
    apply({.at_s = at_s, .link = replay.link, .asked = change, .traced = true, .place = replay.place},
          replay.targets);
  }
  return changes_.size() - before;
}

void Conductor::apply(NetworkChange change, const std::vector<Crossing>& targets) {
  for (const Crossing& crossing : targets) {
    if (change.asked.up) {
      // Both directions of a link are targets, but the link itself changes once.
      if (crossing.forward) network_.set_link_up(crossing.link, *change.asked.up);
      continue;
    }
    Link& link = links_[crossing.link];
    Direction& direction = crossing.forward ? link.forward : link.backward;
    change.asked.apply_to(direction);
    change.held.push_back(network_.reshape(crossing, shape_of(direction)));
  }
  change.confirmed_s = now_s() - began_s_;
  note_caps();
  changes_.push_back(std::move(change));
}

void Conductor::note_caps() {
  const std::vector<ShapedDirection> shaping = network_.shaping();
  for (std::size_t i = 0; i < shaping.size(); ++i) {
    const double rate = shaping[i].up ? shaping[i].asked.rate_bit_per_s : 0;
    if (caps_[i].empty() || caps_[i].back().rate_bit_per_s != rate) caps_[i].push_back({now_s(), rate});
  }
}

std::vector<NetworkChange> Conductor::missed() const {
  std::vector<NetworkChange> out;
  for (std::size_t i = event_; i < schedule_.events.size(); ++i) out.push_back(planned(schedule_.events[i]));
  return out;
}

double Conductor::mean_rate_bit_per_s(std::size_t direction, double from_s, double to_s) const {
  const std::vector<Cap>& caps = caps_.at(direction);
  if (caps.size() == 1) return caps.front().rate_bit_per_s;
  double bits = 0;
  for (std::size_t i = 0; i < caps.size(); ++i) {
    const double begin_s = i == 0 ? from_s : std::max(from_s, caps[i].since_s);
    const double end_s = i + 1 == caps.size() ? to_s : std::min(to_s, caps[i + 1].since_s);
    bits += caps[i].rate_bit_per_s * std::max(0.0, end_s - begin_s);
  }
  return to_s > from_s ? bits / (to_s - from_s) : 0;
}

}  // namespace thinpipe::netem
