#include "netem/verification.hh"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "netem/paths.hh"
#include "netem/probe.hh"
#include "netem/route.hh"

namespace thinpipe::netem {
namespace {

constexpr int flows_together = 4;
constexpr double longest_message_s = 5;
// Every pair of more islands than this would take too long: then each with the next.
constexpr std::size_t most_islands_in_pairs = 6;

using Pairs = std::vector<std::pair<const Host*, const Host*>>;

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

class Verifier {
 public:
  Verifier(const Network& network, const VerificationEffort& effort, const VerificationObserver& observer)
      : network_(network), topology_(network.topology()), effort_(effort), observer_(observer) {}

  std::vector<Measurement> run() {
    shapers();
    const std::vector<Hop> hops = capped_hops(topology_);
    for (const Hop& hop : hops) one_direction(hop);
    for (std::size_t i = 0; i + 1 < hops.size(); ++i) {
      if (hops[i].link == hops[i + 1].link) both_directions(hops[i], hops[i + 1]);
    }
    between_islands();
    whole_network();
    return std::move(out_);
  }

 private:
  void add(Measurement measurement) { out_.push_back(std::move(measurement)); }

  void shapers() {
    for (const ShapedDirection& direction : network_.shaping()) {
      const Shape& asked = direction.asked;
      const Shape& held = direction.read_back;
      const double microsecond_bytes = std::ceil(asked.rate_bit_per_s / 8e6);
      add({.subject = direction.name,
           .what = "rate in the kernel",
           .unit = "bit/s",
           .asked = asked.rate_bit_per_s,
           .measured = held.rate_bit_per_s,
           .rule = "equal, to whole bytes per second",
           .ok = held.rate_bit_per_s == 8 * std::floor(asked.rate_bit_per_s / 8)});
      add({.subject = direction.name,
           .what = "burst in the kernel",
           .unit = "bytes",
           .asked = asked.burst_bytes,
           .measured = held.burst_bytes,
           .rule = "equal, to whole microseconds",
           .ok = held.burst_bytes <= asked.burst_bytes + 1 &&
                 held.burst_bytes >= asked.burst_bytes - microsecond_bytes - 1});
      add({.subject = direction.name,
           .what = "queue in the kernel",
           .unit = "bytes",
           .asked = asked.queue_bytes,
           .measured = held.queue_bytes,
           .rule = "equal",
           .ok = std::abs(held.queue_bytes - asked.queue_bytes) <= 1});
    }
  }

  std::uint64_t bytes_through(const std::string& direction) const {
    const std::vector<LinkCounters> counters = network_.counters();
    const auto found = std::ranges::find(counters, direction, &LinkCounters::name);
    return found == counters.end() ? 0 : found->bytes;
  }

  // Adds what stands against measuring the hop with traffic between two hosts; the hosts where nothing does.
  std::optional<std::pair<const Host*, const Host*>> senders_across(const Hop& hop) {
    const auto names = hosts_across(topology_, hop);
    std::string obstacle;
    if (!names) {
      obstacle = "no way between hosts crosses it";
    } else if (const auto slowest = narrowest(path_between(topology_, names->first, names->second));
               *slowest->rate_bit_per_s() < *hop.rate_bit_per_s()) {
      obstacle = fmt::format("{}, which is narrower, lies on the way from {} to {}", slowest->name(),
                             names->first, names->second);
    }
    if (obstacle.empty()) return std::pair{&network_.host(names->first), &network_.host(names->second)};
    add({.subject = hop.name(), .what = "goodput", .unit = "bit/s", .note = "not measured: " + obstacle});
    return std::nullopt;
  }

  // Goodput of each pair at the same time, the median of each.
  std::vector<double> goodputs(const Pairs& pairs, double rate_bit_per_s) const {
    const GoodputOptions options{
        .settle_s = 0.3,
        .measure_s = std::clamp(effort_.fewest_frames * 8 * full_frame_bytes / rate_bit_per_s, 0.7, 10.0)};
    std::vector<std::vector<double>> of_pair(pairs.size());
    for (int i = 0; i < effort_.repetitions; ++i) {
      const std::vector<double> once = measure_goodput(pairs, options);
      for (std::size_t p = 0; p < pairs.size(); ++p) of_pair[p].push_back(once[p]);
    }
    std::vector<double> out;
    for (std::vector<double>& values : of_pair) out.push_back(median(std::move(values)));
    return out;
  }

  // Sum and evenness of flows that share a way.
  std::pair<double, double> shared(const Pairs& pairs, double rate_bit_per_s) const {
    const double least_s =
        static_cast<double>(pairs.size()) * effort_.fewest_frames * 8 * full_frame_bytes / rate_bit_per_s;
    const std::vector<double> flows = measure_goodput(
        pairs, {.settle_s = 1, .measure_s = std::max(effort_.shared_s, std::min(least_s, 20.0))});
    return {std::accumulate(flows.begin(), flows.end(), 0.0), jain_index(flows)};
  }

  void add_goodput(const std::string& subject, const std::string& what, double rate_bit_per_s,
                   double measured, double least, double most) {
    const double asked = rate_bit_per_s * goodput_of_cap;
    add({.subject = subject,
         .what = what,
         .unit = "bit/s",
         .asked = asked,
         .measured = measured,
         .rule = fmt::format("{:g} to {:g} of it", least, most),
         .ok = measured >= least * asked && measured <= most * asked,
         .note = fmt::format("{:.4f}", measured / asked)});
  }

  void one_direction(const Hop& hop) {
    const auto pair = senders_across(hop);
    if (!pair) return;
    const auto& [from, to] = *pair;
    const double rate = *hop.rate_bit_per_s();
    const std::string name = hop.name();
    observer_(name, "round trips and loss");
    round_trip(name, *from, *to);
    loss(name, *from, *to, rate);
    for (const auto& [bytes, within, what] :
         {std::tuple{short_message_bytes, short_message_within, "64 KiB after a pause"},
          std::tuple{long_message_bytes, long_message_within, "1 MiB after a pause"}}) {
      observer_(name, what);
      message(name, *from, *to, rate, bytes, within, what);
    }
    observer_(name, "one flow");
    const std::uint64_t before = bytes_through(name);
    add_goodput(name, "goodput of one flow", rate, goodputs({*pair}, rate)[0], least_goodput, most_goodput);
    if (bytes_through(name) == before) {
      out_.back().ok = false;
      out_.back().note += "; nothing of it passed this link";
    }
    observer_(name, "four flows");
    const auto [sum, evenness] = shared(Pairs(flows_together, *pair), rate);
    add_goodput(name, "goodput of four flows", rate, sum, least_goodput, most_goodput);
    add({.subject = name,
         .what = "evenness of four flows",
         .unit = "Jain index",
         .asked = 1,
         .measured = evenness,
         .rule = fmt::format("at least {:g}", least_jain_index),
         .ok = evenness >= least_jain_index});
  }

  void round_trip(const std::string& subject, const Host& from, const Host& to) {
    const std::vector<double> times_s = measure_round_trips(from, to);
    add({.subject = subject,
         .what = "round trip, least of " + std::to_string(times_s.size()),
         .unit = "s",
         .asked = 0,
         .measured = times_s.front(),
         .rule = fmt::format("at most {:g} ms above", 1e3 * most_added_round_trip_s),
         .ok = times_s.front() <= most_added_round_trip_s,
         .note = fmt::format("median {:.3f} ms", 1e3 * times_s[times_s.size() / 2])});
  }

  void loss(const std::string& subject, const Host& from, const Host& to, double rate_bit_per_s) {
    // Slow enough for the receiver never to be late.
    const LossOptions options{.count = effort_.datagrams,
                              .rate_bit_per_s = std::min(10e6, 0.4 * rate_bit_per_s)};
    const int lost = measure_loss(from, to, options);
    add({.subject = subject,
         .what = fmt::format("loss of {} datagrams", options.count),
         .unit = "share",
         .asked = 0,
         .measured = static_cast<double>(lost) / options.count,
         .rule = "equal",
         .ok = lost == 0});
  }

  void message(const std::string& subject, const Host& from, const Host& to, double rate_bit_per_s,
               double bytes, double within, const char* what) {
    const double asked = ideal_message_s(bytes, rate_bit_per_s);
    Measurement out{.subject = subject,
                    .what = what,
                    .unit = "s",
                    .asked = asked,
                    .rule = fmt::format("within {:g} %", 100 * within)};
    if (asked > longest_message_s) {
      out.note = fmt::format("not measured: takes longer than {:g} s", longest_message_s);
    } else {
      const std::vector<double> times_s =
          measure_messages(from, to, {.bytes = bytes, .count = effort_.messages});
      out.measured = times_s[times_s.size() / 2];
      out.ok = std::abs(*out.measured / asked - 1) <= within;
      out.note = fmt::format("{:.4f}", *out.measured / asked);
    }
    add(std::move(out));
  }

  void both_directions(const Hop& forward, const Hop& backward) {
    const auto there = hosts_across(topology_, forward);
    const auto back = hosts_across(topology_, backward);
    if (!there || !back) return;  // which one_direction has said
    Pairs pairs;
    for (const auto& [hop, names] : {std::pair{forward, *there}, std::pair{backward, *back}}) {
      if (*narrowest(path_between(topology_, names.first, names.second))->rate_bit_per_s() <
          *hop.rate_bit_per_s())
        return;
      pairs.emplace_back(&network_.host(names.first), &network_.host(names.second));
    }
    observer_(forward.name(), "both directions at once");
    const double slower = std::min(*forward.rate_bit_per_s(), *backward.rate_bit_per_s());
    const std::vector<double> measured = goodputs(pairs, slower);
    const auto add_direction = [&](const Hop& hop, double goodput) {
      add_goodput(hop.name(), "goodput, both directions at once", *hop.rate_bit_per_s(), goodput,
                  1 - both_directions_within, 1 + both_directions_within);
    };
    add_direction(forward, measured[0]);
    add_direction(backward, measured[1]);
  }

  void between_islands() {
    const auto all = islands(topology_);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool next_only = all.size() > most_islands_in_pairs;
      for (std::size_t j = i + 1; j < (next_only ? std::min(i + 2, all.size()) : all.size()); ++j) {
        // Hosts from the middle, not only those that the links were measured with.
        between(network_.host(all[i][all[i].size() / 2]), network_.host(all[j][all[j].size() / 2]));
      }
    }
  }

  void between(const Host& from, const Host& to) {
    const std::string subject = from.name + " to " + to.name;
    observer_(subject, "round trips and goodput");
    round_trip(subject, from, to);
    const auto slowest = narrowest(path_between(topology_, from.name, to.name));
    if (!slowest) {
      add({.subject = subject,
           .what = "goodput of one flow",
           .unit = "bit/s",
           .measured = goodputs({{&from, &to}}, fastest_rate_bit_per_s)[0],
           .note = "nothing on the way is capped"});
      return;
    }
    const double rate = *slowest->rate_bit_per_s();
    add_goodput(subject, "goodput of one flow", rate, goodputs({{&from, &to}}, rate)[0], least_goodput,
                most_goodput);
  }

  void whole_network() {
    const std::uint64_t lost = network_.frames_lost_outside_queues();
    add({.subject = "all devices",
         .what = "frames lost outside the queues",
         .unit = "frames",
         .asked = 0,
         .measured = static_cast<double>(lost),
         .rule = "equal",
         .ok = lost == 0});
    const std::string& control = network_.congestion_control();
    add({.subject = "all hosts",
         .what = "congestion control of live sockets",
         .rule = fmt::format("is {}", route_congestion_control),
         .ok = control == route_congestion_control || network_.hosts().size() < 2,
         .note = control});
  }

  const Network& network_;
  const Topology& topology_;
  const VerificationEffort& effort_;
  const VerificationObserver& observer_;
  std::vector<Measurement> out_;
};

}  // namespace

std::vector<Measurement> verify(const Network& network, const VerificationEffort& effort,
                                const VerificationObserver& observer) {
  return Verifier(network, effort, observer).run();
}

bool all_well(const std::vector<Measurement>& measurements) {
  return std::ranges::all_of(measurements, &Measurement::ok);
}

Json to_json(const std::vector<Measurement>& measurements) {
  const auto number = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
  Json list = Json::array();
  for (const Measurement& one : measurements) {
    list.push_back({{"subject", one.subject},
                    {"what", one.what},
                    {"unit", one.unit},
                    {"asked", number(one.asked)},
                    {"measured", number(one.measured)},
                    {"rule", one.rule},
                    {"ok", one.ok},
                    {"note", one.note}});
  }
  return {{"verdict", all_well(measurements) ? "as asked" : "off"}, {"measurements", std::move(list)}};
}

}  // namespace thinpipe::netem
