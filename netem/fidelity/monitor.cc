// SPDX-License-Identifier: Apache-2.0
#include "netem/fidelity/monitor.hh"

namespace thinpipe::netem {

Monitor::Monitor(const Network& network) : network_(network) {
  for (const ShapedDirection& direction : network.shaping()) {
    watched_.push_back({.record = RateRecord(direction.asked), .as_built = direction});
  }
  sample();
}

std::vector<LinkCounters> Monitor::sample() {
  std::vector<LinkCounters> counters = network_.counters();
  for (std::size_t i = 0; i < counters.size(); ++i) watched_[i].record.add(counters[i]);
  return counters;
}

void Monitor::around(const std::function<void()>& change) {
  const std::vector<ShapedDirection> before = network_.shaping();
  sample();
  change();
  const std::vector<ShapedDirection> after = network_.shaping();
  for (std::size_t i = 0; i < after.size(); ++i) {
    Watched& watched = watched_[i];
    if (after[i].asked != before[i].asked) {
      watched.record.set_shape(after[i].asked);
      watched.changed = true;
    }
    if (after[i].up != before[i].up) {
      watched.record.set_up(after[i].up);
    }
  }
  sample();
}

Fidelity Monitor::verdict() {
  sample();
  if (!network_.topology().is_emulated()) {
    return judge(
        {{.name = "emulation", .asked = "none", .measured = "none", .note = "loopback has no links"}});
  }
  std::vector<Check> checks;
  for (const Watched& watched : watched_) {
    // Always ok: the kernel's rounding was judged when the network was built.
    Check shaper{.name = "shaper " + watched.as_built.name,
                 .asked = to_json(watched.as_built.asked),
                 .measured = to_json(watched.as_built.read_back)};
    if (watched.changed) shaper.note = "as built; changed later, and read back after each change";
    checks.push_back(std::move(shaper));
    for (Check& check : watched.record.checks()) checks.push_back(std::move(check));
  }
  const std::string& control = network_.congestion_control();
  checks.push_back({.name = "congestion control",
                    .asked = network_.asked_congestion_control(),
                    .measured = control,
                    .ok = network_.has_congestion_control()});
  const std::uint64_t lost = network_.frames_lost_outside_queues();
  Check outside{.name = "frames lost outside the queues", .asked = 0, .measured = lost, .ok = lost == 0};
  if (network_.links_went_down()) {
    outside.ok = true;
    outside.note = "not judged: links went down, which loses frames";
  }
  checks.push_back(std::move(outside));
  return judge(std::move(checks));
}

}  // namespace thinpipe::netem
