// SPDX-License-Identifier: Apache-2.0
#include "netem/fidelity/link_probe.hh"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "common/support/exception.hh"
#include "netem/fidelity/backlog_estimate.hh"
#include "netem/fidelity/link_readings.hh"
#include "netem/kernel/probe.hh"
#include "netem/topology/frame.hh"
#include "netem/topology/hops.hh"

namespace thinpipe::netem {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double least_fill_s = 0.4;
constexpr double fill_frames = 400;
constexpr double round_trips_to_fill =
    12;  // a delayed flow begins with ten frames and doubles them each time
constexpr double max_fill_s = 3;
constexpr double most_at_once_bit_per_s = 2e9;
constexpr auto reading_period = std::chrono::milliseconds(2);
// A closed flow's last frames are still on their way, and then the answers to them. They have all passed if links send
// nothing for the time of five frames.
constexpr double fill_over_quiet = fill_frames / 5;
constexpr double least_share_backlogged = 0.5;
constexpr double largest_error = 0.01;  // relative standard error of the time with a backlog
// A shaper passes whole segments, so one may be missing or too much; relative to the bytes that the cap passes.
constexpr double largest_segment = 0.02;
// A dip of a moment, as when a virtual machine's host takes its CPUs away, is not the network's.
constexpr int max_attempts = 3;

// Flows that send at the same time, because no two of them cross the same cap, nor one's acknowledgements the other's data
// in a queue that they would share.
struct Round {
  std::vector<std::pair<const Host*, const Host*>> pairs;
  std::set<std::string> directions;  // capped, that the flows cross
  std::set<std::string> filled;      // of these, those with the lowest cap of a flow's path
  std::set<std::string>
      of_acknowledgements;  // capped, that acknowledgements cross in queues that flows share
  double rate_bit_per_s = 0;
  double fill_s = 0;
  double round_trip_s = 0;  // the longest of its flows', from the links' delays
};

double fill_time_s(double rate_bit_per_s, double round_trip_s, const Frame& frame) {
  const double frames_s = fill_frames * 8 * frame.bytes() / rate_bit_per_s;
  return std::min(std::max(least_fill_s, frames_s) + round_trips_to_fill * round_trip_s, max_fill_s);
}

// Returns the topology with the rates that the directions have now, which are in the order of capped_hops().
Topology with_rates_of(const std::vector<ShapedDirection>& directions, Topology topology) {
  auto next = directions.begin();
  for (Link& link : topology.links) {
    for (Direction* direction : {&link.forward, &link.backward}) {
      if (direction->rate_bit_per_s) direction->rate_bit_per_s = (next++)->asked.rate_bit_per_s;
    }
  }
  return topology;
}

class Prober {
 public:
  explicit Prober(const Network& network)
      : network_(network),
        directions_(network.shaping()),
        topology_(with_rates_of(directions_, network.topology())),
        paths_(topology_) {}

  std::vector<Check> run() {
    plan();
    const auto deadline = Clock::now() + std::chrono::duration<double>(max_probe_s);
    std::vector<const Round*> to_do;
    for (const Round& round : rounds_) to_do.push_back(&round);
    for (int attempt = 1; attempt <= max_attempts; ++attempt) {
      std::erase_if(to_do, [&](const Round* round) {
        const std::chrono::duration<double> left = deadline - Clock::now();
        if (left.count() >= round->fill_s) return fill(*round);
        explain(*round,
                fmt::format("not judged: the probe of all links takes longer than {:g} s", max_probe_s));
        return true;
      });
    }
    std::vector<Check> out;
    for (const ShapedDirection& direction : directions_) out.push_back(check_of_.at(direction.name));
    return out;
  }

 private:
  void plan() {
    const std::vector<Hop> hops = capped_hops(topology_);
    for (std::size_t i = 0; i < directions_.size(); ++i) {
      check_of_[directions_[i].name] = {};
      if (directions_[i].up) {
        add(hops[i]);
      } else {
        check_of_[directions_[i].name].note = "not judged: the link is down";
      }
    }
  }

  void add(const Hop& hop) {
    const std::string name = hop.name();
    if (std::ranges::any_of(rounds_, [&](const Round& round) { return round.filled.contains(name); })) return;
    const auto [hosts, obstacle] = paths_.hosts_that_fill(hop);
    if (!hosts) {
      check_of_[name].note = "not judged: " + obstacle;
      return;
    }
    const std::vector<Hop> path = paths_.between(hosts->first, hosts->second);
    const double rate_bit_per_s = *hop.rate_bit_per_s();
    const std::vector<Hop> way_back = paths_.between(hosts->second, hosts->first);
    const double round_trip_s = impairments_of(path).delay_s + impairments_of(way_back).delay_s;
    std::set<std::string> of_acknowledgements;
    for (const Hop& crossed : way_back) {
      if (crossed.rate_bit_per_s() && !is_by_flow(crossed.direction().queueing))
        of_acknowledgements.insert(crossed.name());
    }
    Round& round = round_for(path, of_acknowledgements, rate_bit_per_s);
    round.of_acknowledgements.merge(of_acknowledgements);
    round.pairs.emplace_back(&network_.host(hosts->first), &network_.host(hosts->second));
    round.rate_bit_per_s += rate_bit_per_s;
    round.round_trip_s = std::max(round.round_trip_s, round_trip_s);
    round.fill_s =
        std::max(round.fill_s, fill_time_s(rate_bit_per_s, round_trip_s, network_.topology().frame));
    for (const Hop& crossed : path) {
      if (!crossed.rate_bit_per_s()) continue;
      round.directions.insert(crossed.name());
      if (*crossed.rate_bit_per_s() == rate_bit_per_s) round.filled.insert(crossed.name());
    }
  }

  Round& round_for(const std::vector<Hop>& path, const std::set<std::string>& of_acknowledgements,
                   double rate_bit_per_s) {
    const auto fits = [&](const Round& round) {
      const auto is_taken = [&](const std::string& direction) {
        return round.directions.contains(direction) || round.of_acknowledgements.contains(direction);
      };
      return round.rate_bit_per_s + rate_bit_per_s <= most_at_once_bit_per_s &&
             std::ranges::none_of(path, is_taken, &Hop::name) &&
             std::ranges::none_of(of_acknowledgements,
                                  [&](const std::string& name) { return round.directions.contains(name); });
    };
    const auto found = std::ranges::find_if(rounds_, fits);
    return found != rounds_.end() ? *found : rounds_.emplace_back();
  }

  // Returns whether every direction was judged to be as specified.
  bool fill(const Round& round) {
    LinkReadings readings;
    try {
      readings = read_during(network_, round.filled, reading_period, [&round] {
        measure_goodput(round.pairs, {.settle_s = 0, .measure_s = round.fill_s});
      });
      // Otherwise the run that follows would count them as its own.
      const std::chrono::duration<double> quiet(round.fill_s / fill_over_quiet + round.round_trip_s);
      wait_until_quiet(network_, quiet, fill_over_quiet * quiet);
    } catch (const SystemError& error) {
      explain(round, fmt::format("not judged: {}", error.what()));
      return true;  // it would fail again
    }
    bool all_ok = true;
    for (const ShapedDirection& direction : directions_) {
      if (!round.filled.contains(direction.name)) continue;
      Check& check = check_of_[direction.name];
      if (const bool is_settled = check.ok && check.measured.is_number(); is_settled) continue;
      check = judge_probe(readings[direction.name], direction);
      all_ok = all_ok && check.ok && check.measured.is_number();
    }
    return all_ok;
  }

  void explain(const Round& round, const std::string& note) {
    for (const std::string& name : round.filled) {
      Check& check = check_of_.at(name);
      if (check.measured.is_null()) check.note = note;
    }
  }

  const Network& network_;
  const std::vector<ShapedDirection> directions_;
  const Topology topology_;  // as it is now: caps may have changed
  const HostPaths paths_;
  std::vector<Round> rounds_;
  std::map<std::string, Check> check_of_;
};

// Bytes and the bytes that the cap passes meanwhile.
struct Share {
  double bytes = 0;
  double of_bytes = 0;

  double ratio() const { return of_bytes > 0 ? bytes / of_bytes : 0; }
  // Returns whether it is enough of the cap but for one segment.
  bool is_enough(double segment_bytes) const {
    return of_bytes > 0 && bytes + segment_bytes >= least_rate_of_cap * of_bytes;
  }
};

// Returns what the flow used once it has found its speed.
Share share_used(const std::vector<LinkCounters>& readings, double rate_bit_per_s) {
  const LinkCounters& from = readings[readings.size() / 2];
  const LinkCounters& to = readings[readings.size() * 9 / 10];
  return {.bytes = static_cast<double>(to.bytes - from.bytes),
          .of_bytes = rate_bit_per_s / 8 * (to.time_s - from.time_s)};
}

}  // namespace

Check judge_probe(const std::vector<LinkCounters>& readings, const ShapedDirection& direction) {
  const LinkShape& shape = direction.asked;
  Check check;
  const auto waits = [](const LinkCounters& reading) { return reading.backlog_bytes > 0; };
  const auto first = std::ranges::find_if(readings, waits);
  const auto last = std::ranges::find_if(readings.rbegin(), readings.rend(), waits).base();
  BacklogEstimate estimate;
  for (auto reading = first; reading != readings.end() && reading + 1 < last; ++reading) {
    estimate.add(*reading, *(reading + 1), shape.rate_bit_per_s);
  }
  const double segment_bytes = segment_on_link_bytes(shape);
  const bool is_certain = estimate.backlogged_s >= least_share_backlogged * least_fill_s &&
                          std::sqrt(estimate.variance_s2) <= largest_error * estimate.backlogged_s;
  if (!is_certain && !readings.empty()) {
    // Behind another link with the same cap, no frame waits.
    const Share share = share_used(readings, shape.rate_bit_per_s);
    if (share.is_enough(segment_bytes) && segment_bytes <= largest_segment * share.of_bytes) {
      check.measured = rounded(share.ratio());
      check.ok = share.bytes <= most_rate_of_cap * share.of_bytes + segment_bytes;
      return check;
    }
  }
  if (!is_certain) {
    check.note = fmt::format("not judged: frames waited for {:.2f} s of the probe", estimate.backlogged_s);
    return check;
  }
  if (segment_bytes > largest_segment * estimate.backlogged_bytes) {
    check.note = fmt::format("not judged: the cap passes only {:.0f} segments in the probe",
                             estimate.backlogged_bytes / segment_bytes);
    return check;
  }
  const Share share{.bytes = estimate.bytes, .of_bytes = estimate.backlogged_bytes};
  const double most_bytes = shape.rate_bit_per_s / 8 * estimate.time_s + credit_bytes(shape);
  check.measured = rounded(share.ratio());
  check.ok = share.is_enough(segment_bytes) && estimate.bytes <= most_rate_of_cap * most_bytes;
  return check;
}

std::vector<Check> probe_links(const Network& network, const std::string& moment) {
  std::vector<Check> checks = Prober(network).run();
  const std::vector<ShapedDirection> directions = network.shaping();
  for (std::size_t i = 0; i < checks.size(); ++i) {
    checks[i].name = fmt::format("rate in a probe {}, {}", moment, directions[i].name);
    checks[i].asked = fmt::format("{:g} to {:g} of the cap", least_rate_of_cap, most_rate_of_cap);
    checks[i].rate_of = directions[i].name;
  }
  return checks;
}

}  // namespace thinpipe::netem
