#include "netem/monitor.hh"

#include <fmt/format.h>

#include "harness/support/units.hh"
#include "netem/route.hh"

namespace thinpipe::netem {
namespace {

Json to_json(const Shape& shape) {
  Json out = {{"rate_bit_per_s", shape.rate_bit_per_s},
              {"burst_bytes", shape.burst_bytes},
              {"queue_bytes", shape.queue_bytes}};
  const Impairments& also = shape.impairments;
  for (const auto& [key, value] : {std::pair{"delay_s", also.delay_s},
                                   {"jitter_s", also.jitter_s},
                                   {"loss", also.loss},
                                   {"duplication", also.duplication},
                                   {"reordering", also.reordering}}) {
    if (value > 0) out[key] = value;
  }
  return out;
}

}  // namespace

Monitor::Monitor(const Network& network) : network_(network) {
  for (const ShapedDirection& direction : network.shaping()) records_.emplace_back(direction.asked);
  sample();
}

void Monitor::sample() {
  const std::vector<LinkCounters> counters = network_.counters();
  for (std::size_t i = 0; i < counters.size(); ++i) records_[i].add(counters[i]);
}

Fidelity Monitor::verdict() {
  sample();
  if (network_.topology().kind == TopologyKind::loopback) {
    return judge(
        {{.name = "emulation", .asked = "none", .measured = "none", .note = "loopback has no links"}});
  }
  std::vector<Check> checks;
  const std::vector<ShapedDirection> shaping = network_.shaping();
  for (std::size_t i = 0; i < shaping.size(); ++i) {
    // The kernel's rounding was judged when the network was built; here are the figures.
    checks.push_back({.name = "shaper " + shaping[i].name,
                      .asked = to_json(shaping[i].asked),
                      .measured = to_json(shaping[i].read_back)});
    for (Check& check : records_[i].checks()) checks.push_back(std::move(check));
  }
  const std::string& control = network_.congestion_control();
  checks.push_back({.name = "congestion control",
                    .asked = route_congestion_control,
                    .measured = control,
                    .ok = control == route_congestion_control || network_.hosts().size() < 2});
  const std::uint64_t lost = network_.frames_lost_outside_queues();
  checks.push_back({.name = "frames lost outside the queues", .asked = 0, .measured = lost, .ok = lost == 0});
  return judge(std::move(checks));
}

}  // namespace thinpipe::netem
