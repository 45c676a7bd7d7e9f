// SPDX-License-Identifier: Apache-2.0
#include "netem/fidelity/verification.hh"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "netem/fidelity/link_probe.hh"
#include "netem/fidelity/link_readings.hh"
#include "netem/kernel/probe.hh"
#include "netem/kernel/qdisc_stack.hh"
#include "netem/topology/frame.hh"
#include "netem/topology/hops.hh"

namespace thinpipe::netem {
namespace {

constexpr int flows_together = 4;
constexpr double max_message_s = 5;
// With more islands than this, measuring every pair would take too long: each is paired with the next only.
constexpr std::size_t max_islands_in_pairs = 6;

constexpr auto rare_reading_period = std::chrono::milliseconds(10);  // frequent ones keep cores awake

using Pairs = std::vector<std::pair<const Host*, const Host*>>;

constexpr const char* queue_is_shared = "all flows share one queue";

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

class Verifier {
 public:
  Verifier(const Network& network, const VerificationEffort& effort, const VerificationObserver& observer)
      : network_(network),
        topology_(network.topology()),
        paths_(topology_),
        frame_(topology_.frame),
        effort_(effort),
        observer_(observer) {}

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
      const LinkShape& asked = direction.asked;
      const LinkShape& held = direction.read_back;
      const bool ok = is_held(asked, held);
      const auto add_field = [&](const char* what, const char* unit, double one, double other,
                                 const char* rule) {
        add({.subject = direction.name,
             .what = fmt::format("{} in the kernel", what),
             .unit = unit,
             .asked = one,
             .measured = other,
             .rule = rule,
             .ok = ok});
      };
      add_field("rate", "bit/s", asked.rate_bit_per_s, held.rate_bit_per_s,
                "equal, to whole bytes per second");
      add_field("burst", "bytes", asked.burst_bytes, held.burst_bytes,
                "equal, to two microseconds of the rate");
      add_field("queue", "bytes", asked.queue_bytes, held.queue_bytes, "equal");
      const Impairments& also_asked = asked.impairments;
      const Impairments& also_held = held.impairments;
      if (!also_asked.any()) continue;
      add_field("delay", "s", also_asked.delay_s, also_held.delay_s, "equal, to 2 us");
      add_field("jitter", "s", also_asked.jitter_s, also_held.jitter_s, "equal, to 2 us");
      add_field("loss", "share", also_asked.loss, also_held.loss, "equal, to 2^-32");
      add_field("duplication", "share", also_asked.duplication, also_held.duplication, "equal, to 2^-32");
      add_field("reordering", "share", also_asked.reordering, also_held.reordering, "equal, to 2^-32");
    }
  }

  std::uint64_t bytes_through(const std::string& direction) const {
    const std::vector<LinkCounters> counters = network_.counters();
    const auto found = std::ranges::find(counters, direction, &LinkCounters::name);
    return found == counters.end() ? 0 : found->bytes;
  }

  // Returns the hosts whose traffic measures the hop. If there are none, adds a measurement that says why and
  // returns nullopt.
  std::optional<std::pair<const Host*, const Host*>> senders_across(const Hop& hop) {
    const auto [names, obstacle] = paths_.hosts_that_fill(hop);
    if (names) return std::pair{&network_.host(names->first), &network_.host(names->second)};
    add({.subject = hop.name(), .what = "goodput", .unit = "bit/s", .note = "not measured: " + obstacle});
    return std::nullopt;
  }

  // Returns the median goodput of each pair. All pairs send at the same time.
  std::vector<double> goodputs(const Pairs& pairs, double rate_bit_per_s) const {
    const GoodputOptions options{
        .settle_s = 0.3 * effort_.settle_s,
        .measure_s =
            std::clamp(effort_.min_frames * 8 * frame_.bytes() / rate_bit_per_s, effort_.goodput_s, 10.0)};
    std::vector<std::vector<double>> of_pair(pairs.size());
    for (int i = 0; i < effort_.repetitions; ++i) {
      const std::vector<double> once = measure_goodput(pairs, options);
      for (std::size_t p = 0; p < pairs.size(); ++p) of_pair[p].push_back(once[p]);
    }
    std::vector<double> out;
    for (std::vector<double>& values : of_pair) out.push_back(median(std::move(values)));
    return out;
  }

  // Returns the sum and the evenness (Jain index) of flows that share a path.
  std::pair<double, double> shared(const Pairs& pairs, double rate_bit_per_s) const {
    const double min_s =
        static_cast<double>(pairs.size()) * effort_.min_frames * 8 * frame_.bytes() / rate_bit_per_s;
    const std::vector<double> flows = measure_goodput(
        pairs,
        {.settle_s = effort_.settle_s, .measure_s = std::max(effort_.shared_s, std::min(min_s, 20.0))});
    return {std::accumulate(flows.begin(), flows.end(), 0.0), jain_index(flows)};
  }

  // If the path delays or loses frames, TCP decides how much of the cap it uses: goodput is measured, but not
  // judged.
  void add_goodput(const std::string& subject, const std::string& what, double rate_bit_per_s,
                   const Impairments& way, double measured, double least, double most) {
    const double asked = rate_bit_per_s * frame_.goodput_of_cap();
    if (way.any()) {
      add_without_rule(subject, what, "bit/s", asked, measured, "the path delays or disturbs frames");
      return;
    }
    add({.subject = subject,
         .what = what,
         .unit = "bit/s",
         .asked = asked,
         .measured = measured,
         .rule = fmt::format("{:g} to {:g} of it", least, most),
         .ok = measured >= least * asked && measured <= most * asked,
         .note = fmt::format("{:.4f}", measured / asked)});
  }

  void add_without_rule(const std::string& subject, const std::string& what, const std::string& unit,
                        double asked, double measured, const char* reason) {
    add({.subject = subject,
         .what = what,
         .unit = unit,
         .asked = asked,
         .measured = measured,
         .note = fmt::format("{:.4f}; no rule, because {}", measured / asked, reason)});
  }

  void one_direction(const Hop& hop) {
    const auto pair = senders_across(hop);
    if (!pair) return;
    const auto& [from, to] = *pair;
    const double rate = *hop.rate_bit_per_s();
    const std::string name = hop.name();
    const Impairments way = both_ways(from->name, to->name);
    observer_(name, "round trips and loss");
    round_trip(name, *from, *to);
    loss(name, *from, *to, rate);
    for (const auto& [bytes, within, what] :
         {std::tuple{short_message_bytes, short_message_within, "64 KiB after a pause"},
          std::tuple{long_message_bytes, long_message_within, "1 MiB after a pause"}}) {
      observer_(name, what);
      message(hop, *from, *to, way, bytes, within, what);
    }
    observer_(name, "one flow");
    const std::uint64_t before = bytes_through(name);
    add_goodput(name, "goodput of one flow", rate, way, goodputs({*pair}, rate)[0], min_goodput, max_goodput);
    if (bytes_through(name) == before) {
      out_.back().ok = false;
      out_.back().note += "; none of it passed this link";
    }
    observer_(name, "four flows");
    const auto [sum, evenness] = shared(Pairs(flows_together, *pair), rate);
    add_goodput(name, "goodput of four flows", rate, way, sum, min_goodput, max_goodput);
    if (way.any()) return;
    if (!is_by_flow(hop.direction().queueing)) {
      add_without_rule(name, "evenness of four flows", "Jain index", 1, evenness, queue_is_shared);
      return;
    }
    add({.subject = name,
         .what = "evenness of four flows",
         .unit = "Jain index",
         .asked = 1,
         .measured = evenness,
         .rule = fmt::format("at least {:g}", min_jain_index),
         .ok = evenness >= min_jain_index});
  }

  // Returns what TCP meets on a path, with that of the acknowledgements.
  Impairments both_ways(const std::string& from, const std::string& to) const {
    const Impairments there = impairments_of(paths_.between(from, to));
    const Impairments back = impairments_of(paths_.between(to, from));
    return there.any() ? there : back;
  }

  void round_trip(const std::string& subject, const Host& from, const Host& to) {
    const Impairments there = impairments_of(paths_.between(from.name, to.name));
    const Impairments back = impairments_of(paths_.between(to.name, from.name));
    const double delay_s = there.delay_s + back.delay_s;
    const std::vector<double> times_s = measure_round_trips(from, to, delay_s > 0 ? 25 : 100);
    const double median_s = times_s[times_s.size() / 2];
    // Jitter works both ways, so with a delay the median counts. Without one, the minimum shows what the
    // machine adds.
    const double measured_s = delay_s > 0 ? median_s : times_s.front();
    // Each jitter is drawn evenly from both sides of its delay. A median varies 1.25 times as much as a mean.
    const double deviation_s = std::hypot(there.jitter_s, back.jitter_s) / std::sqrt(3);
    const double error_of_median_s = 1.25 * deviation_s / std::sqrt(static_cast<double>(times_s.size()));
    const double max_added_s =
        std::max(max_added_round_trip_s, round_trip_within * delay_s) + median_deviations * error_of_median_s;
    add({.subject = subject,
         .what = delay_s > 0 ? fmt::format("round trip, median of {}", times_s.size())
                             : fmt::format("round trip, minimum of {}", times_s.size()),
         .unit = "s",
         .asked = delay_s,
         .measured = measured_s,
         .rule = delay_s > 0 ? fmt::format("within {:g} ms", 1e3 * max_added_s)
                             : fmt::format("at most {:g} ms above", 1e3 * max_added_s),
         .ok = std::abs(measured_s - delay_s) <= max_added_s,
         .note = fmt::format("median {:.3f} ms", 1e3 * median_s)});
  }

  void loss(const std::string& subject, const Host& from, const Host& to, double rate_bit_per_s) {
    const std::vector<Hop> path = paths_.between(from.name, to.name);
    const Impairments way = impairments_of(path);
    const double asked = share_that_never_arrives(path);
    // Slow enough that the receiver is never late.
    const LossOptions options{.count = effort_.datagrams,
                              .rate_bit_per_s = std::min(10e6, 0.4 * rate_bit_per_s),
                              .silence_s = 1 + way.delay_s + way.jitter_s};
    const double measured = static_cast<double>(measure_loss(from, to, options)) / options.count;
    const double bound = loss_deviations * std::sqrt(asked * (1 - asked) / options.count);
    const std::string what = fmt::format("loss of {} datagrams", options.count);
    if (asked > 0 && asked * options.count < least_judged_losses) {
      add({.subject = subject,
           .what = what,
           .unit = "share",
           .asked = asked,
           .measured = measured,
           .note = fmt::format("no rule, because fewer than {:g} losses are expected", least_judged_losses)});
      return;
    }
    add({.subject = subject,
         .what = what,
         .unit = "share",
         .asked = asked,
         .measured = measured,
         .rule = asked > 0 ? fmt::format("within {:.4f}, {:g} standard deviations", bound, loss_deviations)
                           : "equal",
         .ok = std::abs(measured - asked) <= bound});
  }

  void message(const Hop& hop, const Host& from, const Host& to, const Impairments& way, double bytes,
               double within, const char* what) {
    const double rate_bit_per_s = *hop.rate_bit_per_s();
    const double asked = ideal_message_s(bytes, rate_bit_per_s, frame_);
    Measurement out{.subject = hop.name(),
                    .what = what,
                    .unit = "s",
                    .asked = asked,
                    .rule = fmt::format("within {:g} %", 100 * within)};
    // The burst passes at once.
    const double burst_s = 8 * link_shape_of(hop.direction()).burst_bytes / rate_bit_per_s;
    const double earlier_s = std::max(within * asked, (1 + within) * burst_s);
    if (earlier_s > within * asked) out.rule += fmt::format(", {:.0f} % earlier", 100 * earlier_s / asked);
    if (way.any()) {
      out.note = "not measured: if the path delays or disturbs frames, TCP needs time to find its speed";
    } else if (asked > max_message_s) {
      out.note = fmt::format("not measured: takes longer than {:g} s", max_message_s);
    } else {
      const std::vector<double> times_s =
          measure_messages(from, to, {.bytes = bytes, .count = effort_.messages});
      out.measured = times_s[times_s.size() / 2];
      out.ok = *out.measured <= asked * (1 + within) && *out.measured >= asked - earlier_s;
      out.note = fmt::format("{:.4f}", *out.measured / asked);
    }
    add(std::move(out));
  }

  void both_directions(const Hop& forward, const Hop& backward) {
    const auto there = paths_.hosts_across(forward);
    const auto back = paths_.hosts_across(backward);
    if (!there || !back) return;  // one_direction has reported this
    Pairs pairs;
    std::vector<Impairments> ways;
    for (const auto& [hop, names] : {std::pair{forward, *there}, std::pair{backward, *back}}) {
      const std::vector<Hop> path = paths_.between(names.first, names.second);
      if (*narrowest(path)->rate_bit_per_s() < *hop.rate_bit_per_s()) return;
      ways.push_back(both_ways(names.first, names.second));
      pairs.emplace_back(&network_.host(names.first), &network_.host(names.second));
    }
    observer_(forward.name(), "both directions at once");
    const double slower = std::min(*forward.rate_bit_per_s(), *backward.rate_bit_per_s());
    std::vector<double> measured;
    LinkReadings readings = read_during(network_, {forward.name(), backward.name()}, rare_reading_period,
                                        [&] { measured = goodputs(pairs, slower); });
    const auto add_direction = [&](const Hop& hop, std::size_t i) {
      const char* const what = "goodput, both directions at once";
      const double rate = *hop.rate_bit_per_s();
      if (is_by_flow(hop.direction().queueing) || ways[i].any()) {
        add_goodput(hop.name(), what, rate, ways[i], measured[i],
                    min_goodput * frame_.bytes() / (frame_.bytes() + acknowledgement_bytes), max_goodput);
      } else {
        add_without_rule(hop.name(), what, "bit/s", rate * frame_.goodput_of_cap(), measured[i],
                         queue_is_shared);
      }
      if (!ways[i].any()) rate_of_all_frames(hop, readings[hop.name()]);
    };
    add_direction(forward, 0);
    add_direction(backward, 1);
  }

  // Acknowledgements of the other direction's data count here, unlike in a goodput.
  void rate_of_all_frames(const Hop& hop, const std::vector<LinkCounters>& readings) {
    const std::vector<ShapedDirection> directions = network_.shaping();
    const auto direction = std::ranges::find(directions, hop.name(), &ShapedDirection::name);
    const Check check = judge_probe(readings, *direction);
    Measurement out{.subject = hop.name(),
                    .what = "rate of all frames, both directions",
                    .unit = "bit/s",
                    .asked = hop.rate_bit_per_s(),
                    .ok = check.ok,
                    .note = check.note};
    if (check.measured.is_number()) {
      const auto of_cap = check.measured.get<double>();
      out.measured = of_cap * *hop.rate_bit_per_s();
      out.rule = fmt::format("{:g} while frames wait, {:g} in all", least_rate_of_cap, most_rate_of_cap);
      out.note = fmt::format("{:.4f}", of_cap);
    }
    add(std::move(out));
  }

  void between_islands() {
    const auto all = islands(topology_);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool next_only = all.size() > max_islands_in_pairs;
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
    const std::vector<Hop> path = paths_.between(from.name, to.name);
    const auto slowest = narrowest(path);
    if (!slowest) {
      add({.subject = subject,
           .what = "goodput of one flow",
           .unit = "bit/s",
           .measured = goodputs({{&from, &to}}, max_rate_bit_per_s)[0],
           .note = "the path has no cap"});
      return;
    }
    const double rate = *slowest->rate_bit_per_s();
    add_goodput(subject, "goodput of one flow", rate, both_ways(from.name, to.name),
                goodputs({{&from, &to}}, rate)[0], min_goodput, max_goodput);
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
    add({.subject = "all hosts",
         .what = "congestion control of live sockets",
         .rule = fmt::format("is {}", network_.asked_congestion_control()),
         .ok = network_.has_congestion_control(),
         .note = network_.congestion_control()});
  }

  const Network& network_;
  const Topology& topology_;
  const HostPaths paths_;
  const Frame frame_;
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
                    {"specified", number(one.asked)},
                    {"measured", number(one.measured)},
                    {"rule", one.rule},
                    {"ok", one.ok},
                    {"note", one.note}});
  }
  return {{"verdict", all_well(measurements) ? "as specified" : "deviates"},
          {"measurements", std::move(list)}};
}

}  // namespace thinpipe::netem
