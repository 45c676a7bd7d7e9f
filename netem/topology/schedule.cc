// SPDX-License-Identifier: Apache-2.0
#include "netem/topology/schedule.hh"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "netem/topology/link_names.hh"
#include "netem/topology/topology_checks.hh"

namespace thinpipe::netem {
namespace {

// Returns the named directions that have a cap: only these have a shaper to change.
std::vector<DirectedLink> shaped_ones(const Topology& topology, const std::vector<DirectedLink>& named,
                                      const std::string& name, const Place& place) {
  std::vector<DirectedLink> out;
  std::ranges::copy_if(named, std::back_inserter(out),
                       [&](const DirectedLink& directed_link) { return is_shaped(topology, directed_link); });
  if (out.empty()) {
    throw InputError(place,
                     fmt::format("{} has no cap, so there is no shaper to change; give it a \"rate\" in "
                                 "the topology {}",
                                 name, topology.name));
  }
  return out;
}

void check_can_go_down(const Topology& topology, const NetworkEvent& event) {
  if (event.link.find("->") != std::string::npos) {
    throw InputError(
        event.place / "link",
        fmt::format("a link goes down or up in both directions at once; write \"a-b\", not \"{}\"",
                    event.link));
  }
  for (const DirectedLink& directed_link : event.targets) {
    const Link& link = topology.links[directed_link.link];
    const auto is_host = [&](const std::string& node) {
      return std::ranges::find(topology.hosts, node) != topology.hosts.end();
    };
    if (is_host(link.a) && is_host(link.b)) {
      throw InputError(
          event.place / "state",
          fmt::format(
              "the link between the hosts {} and {} cannot go down, because only a switch's port can; "
              "put a switch between them",
              link.a, link.b));
    }
  }
}

NetworkEvent make_event(const NetworkEventOptions& options, const Place& place, const Topology& topology,
                        const LinkNames& names) {
  NetworkEvent event{.at_s = options.at_s, .link = options.link, .change = options.change, .place = place};
  const std::vector<DirectedLink>& named = names.find(event.link, place / "link");
  const Change& change = event.change;
  const bool reshapes = change.rate_bit_per_s || change.delay_s || change.loss;
  if (!reshapes && !options.state) {
    throw InputError(place, "changes nothing; give it a \"rate\", \"delay\", \"loss\" or \"state\"");
  }
  if (reshapes && options.state) {
    throw InputError(place / "state", "must be alone in its event; put other changes into a second event");
  }
  if (options.state) event.change.up = *options.state == "up";
  event.targets = reshapes ? shaped_ones(topology, named, event.link, place / "link") : named;
  if (options.state) check_can_go_down(topology, event);
  return event;
}

std::vector<NetworkEvent> make_events(const std::vector<NetworkEventOptions>& options, const Place& place,
                                      const Topology& topology, const LinkNames& names) {
  std::vector<NetworkEvent> events;
  for (std::size_t i = 0; i < options.size(); ++i) {
    events.push_back(make_event(options[i], place / i, topology, names));
  }
  std::ranges::stable_sort(events, {}, &NetworkEvent::at_s);
  return events;
}

TraceReplay make_replay(const RateTraceOptions& options, const Place& place, const Topology& topology,
                        const LinkNames& names, const TraceFinder& find_trace) {
  TraceReplay replay{.link = options.link,
                     .file = options.file,
                     .period_s = options.period_s,
                     .clock = options.clock == "train" ? TraceClock::train : TraceClock::wall,
                     .place = place};
  replay.targets =
      shaped_ones(topology, names.find(replay.link, place / "link"), replay.link, place / "link");
  replay.trace = load_rate_trace(find_trace(replay.file, place / "file"));
  if (!replay.period_s) return replay;
  if (replay.trace.period_s) {
    throw InputError(place / "period",
                     fmt::format("a trace in mahimahi's format has its own period, {}; remove this one",
                                 format_quantity(Quantity::duration, *replay.trace.period_s)));
  }
  const double last_s = replay.trace.steps.back().at_s;
  if (*replay.period_s <= last_s) {
    throw InputError(
        place / "period",
        fmt::format("must be above {}, the time of the last step of {}, but is {}; that step would not count",
                    format_quantity(Quantity::duration, last_s), replay.file,
                    format_quantity(Quantity::duration, *replay.period_s)));
  }
  replay.trace.period_s = replay.period_s;
  return replay;
}

bool is_replayed_on(const Schedule& schedule, const DirectedLink& directed_link) {
  return schedule.trace &&
         std::ranges::find(schedule.trace->targets, directed_link) != schedule.trace->targets.end();
}

// Checks that each value of a link has one source at a time, and that "up" and "down" alternate.
void check_events(const Topology& topology, const Schedule& schedule) {
  std::map<std::tuple<std::size_t, bool, std::string>, const NetworkEvent*> latest;  // by direction and key
  for (const NetworkEvent& event : schedule.events) {
    const Json changed = to_json(event.change);
    for (const DirectedLink& directed_link : event.targets) {
      if (event.change.rate_bit_per_s && is_replayed_on(schedule, directed_link)) {
        throw InputError(event.place / "rate",
                         fmt::format("the rate of {} follows \"rate_trace\"; remove one of the two",
                                     name_of(topology, directed_link)));
      }
      for (const auto& [key, value] : changed.items()) {
        const NetworkEvent*& before = latest[{directed_link.link, directed_link.forward, key}];
        if (before != nullptr && before->at_s == event.at_s) {
          throw InputError(
              event.place / "at",
              fmt::format("{} is already changed at {} by {}; merge the two, or move one",
                          name_of(topology, directed_link), format_quantity(Quantity::duration, event.at_s),
                          before->place.pointer));
        }
        const bool was_up = before == nullptr || before->change.up.value_or(true);
        if (event.change.up && was_up == *event.change.up) {
          throw InputError(
              event.place / "state",
              fmt::format("{} is already {} at {}; remove this event", event.link, was_up ? "up" : "down",
                          format_quantity(Quantity::duration, event.at_s)));
        }
        before = &event;
      }
    }
  }
}

}  // namespace

void Change::apply_to(Direction& direction) const {
  if (rate_bit_per_s) direction.rate_bit_per_s = rate_bit_per_s;
  if (delay_s) direction.impairments.delay_s = *delay_s;
  if (loss) direction.impairments.loss = *loss;
}

Json to_json(const Change& change) {
  Json out = Json::object();
  if (change.rate_bit_per_s) out["rate_bit_per_s"] = *change.rate_bit_per_s;
  if (change.delay_s) out["delay_s"] = *change.delay_s;
  if (change.loss) out["loss"] = *change.loss;
  if (change.up) out["state"] = *change.up ? "up" : "down";
  return out;
}

Schedule make_schedule(const ScheduleOptions& options, const Place& place, const Topology& topology,
                       const TraceFinder& find_trace) {
  const LinkNames names(topology);
  Schedule schedule;
  if (options.rate_trace) {
    schedule.trace = make_replay(*options.rate_trace, place / "rate_trace", topology, names, find_trace);
  }
  schedule.events = make_events(options.network_events, place / "network_events", topology, names);
  check_events(topology, schedule);
  visit_states(topology, schedule, [](const DirectedLink&, const Direction& direction, const Place& event) {
    check_direction(direction, event);
  });
  return schedule;
}

Json events_to_json(const Schedule& schedule) {
  if (schedule.events.empty()) return nullptr;
  Json out = Json::array();
  for (const NetworkEvent& event : schedule.events) {
    Json entry = {{"at", format_quantity(Quantity::duration, event.at_s)}, {"link", event.link}};
    const Change& change = event.change;
    if (change.rate_bit_per_s) entry["rate"] = format_quantity(Quantity::rate, *change.rate_bit_per_s);
    if (change.delay_s) entry["delay"] = format_quantity(Quantity::duration, *change.delay_s);
    if (change.loss) entry["loss"] = *change.loss;
    if (change.up) entry["state"] = *change.up ? "up" : "down";
    out.push_back(std::move(entry));
  }
  return out;
}

Json trace_to_json(const Schedule& schedule) {
  if (!schedule.trace) return nullptr;
  const TraceReplay& replay = *schedule.trace;
  Json out = {{"link", replay.link},
              {"file", replay.file},
              {"period", nullptr},
              {"clock", replay.clock == TraceClock::train ? "train" : "wall"}};
  if (replay.period_s) out["period"] = format_quantity(Quantity::duration, *replay.period_s);
  return out;
}

void visit_states(const Topology& topology, const Schedule& schedule,
                  const std::function<void(const DirectedLink&, const Direction&, const Place&)>& visit) {
  const auto direction_of = [](Link& link, bool forward) -> Direction& {
    return forward ? link.forward : link.backward;
  };
  std::vector<Link> links = topology.links;
  if (schedule.trace) {
    // Impairments change independently of the rate, and neither burst nor queue depends on them.
    for (const DirectedLink& directed_link : schedule.trace->targets) {
      Direction direction = direction_of(links[directed_link.link], directed_link.forward);
      for (const RateStep& step : schedule.trace->trace.steps) {
        direction.rate_bit_per_s = step.rate_bit_per_s;
        visit(directed_link, direction, schedule.trace->place);
      }
    }
  }
  for (const NetworkEvent& event : schedule.events) {
    if (event.change.up) continue;
    for (const DirectedLink& directed_link : event.targets) {
      Direction& direction = direction_of(links[directed_link.link], directed_link.forward);
      event.change.apply_to(direction);
      visit(directed_link, direction, event.place);
    }
  }
}

}  // namespace thinpipe::netem
