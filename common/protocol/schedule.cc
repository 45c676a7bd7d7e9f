// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/schedule.hh"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace thinpipe {
namespace {

constexpr std::int64_t max_samples = 16;
constexpr double alike = 1.25;  // ratio of bytes

// The common properties of a class's steps.
struct Kind {
  bool starts = false;
  bool exchanges = false;
  std::size_t layout = 0;
  std::optional<std::int64_t> overlap_steps = {};
  std::vector<std::size_t> operations = {};  // of worker 0
  int size = 0;                              // logarithm of all workers' bytes

  auto operator<=>(const Kind&) const = default;
};

Kind kind_of(const JointStep& step, const CommunicationTrace& trace) {
  if (!step.front()) return {};
  const Exchange& first = trace.exchanges[*step.front()];
  Kind kind{.exchanges = true, .layout = first.layout, .overlap_steps = first.overlap_steps};
  for (const auto& calls : first.buckets) {
    for (const CollectiveCall& call : calls) kind.operations.push_back(call.index());
  }
  double bytes = 0;
  for (std::size_t rank = 0; rank < step.size(); ++rank) {
    if (!step[rank]) continue;
    for (const auto& calls : trace.exchanges[*step[rank]].buckets) {
      for (const CollectiveCall& call : calls) bytes += payload_bytes(call, rank);
    }
  }
  if (bytes > 0) kind.size = 1 + static_cast<int>(std::log(bytes) / std::log(alike));
  return kind;
}

struct JointRun {
  JointStep step;
  std::int64_t steps = 0;
};

// Splits the steps into runs in which no worker's exchange changes. The first step is a run of its own.
std::vector<JointRun> joint_runs(const CommunicationTrace& trace) {
  struct Cursor {
    std::size_t run = 0;
    std::int64_t done = 0;  // steps of it
  };
  std::vector<Cursor> cursors(trace.workers.size());
  std::vector<JointRun> out;
  for (std::int64_t left = trace.steps(); left > 0; left -= out.back().steps) {
    const bool starts = out.empty();
    JointRun& joint = out.emplace_back(JointRun{.step = {}, .steps = starts ? 1 : left});
    for (std::size_t rank = 0; rank < cursors.size(); ++rank) {
      const StepRun& run = trace.workers[rank][cursors[rank].run];
      joint.step.push_back(run.exchange);
      joint.steps = std::min(joint.steps, run.steps - cursors[rank].done);
    }
    for (std::size_t rank = 0; rank < cursors.size(); ++rank) {
      cursors[rank].done += joint.steps;
      if (cursors[rank].done == trace.workers[rank][cursors[rank].run].steps)
        cursors[rank] = {cursors[rank].run + 1, 0};
    }
  }
  return out;
}

// Returns 0 for a local step and for an exchange within its step.
std::int64_t overlap_of(const JointStep& step, const CommunicationTrace& trace) {
  std::optional<std::int64_t> overlap;
  for (const std::optional<std::size_t>& exchange : step) {
    const std::int64_t own = exchange ? trace.exchanges[*exchange].overlap_steps.value_or(0) : 0;
    if (overlap && *overlap != own) {
      throw Error(
          fmt::format("the trace's workers wait for the same exchange after {} and {} steps", *overlap, own));
    }
    overlap = own;
  }
  return overlap.value_or(0);
}

// Gives each exchange that overlaps with later steps these steps, in place of the one at whose end it begins.
std::vector<JointRun> with_overlaps(const std::vector<JointRun>& runs, const CommunicationTrace& trace) {
  std::vector<JointRun> out;
  std::int64_t covered = 0;  // steps to come that belong to the exchange in flight
  for (const JointRun& run : runs) {
    const std::int64_t overlap = overlap_of(run.step, trace);
    const bool is_local = !run.step.front();
    for (std::int64_t left = run.steps; left > 0;) {
      const std::int64_t steps = is_local || covered == 0 ? left : 1;
      const std::int64_t taken = std::min(covered, steps);
      covered -= taken;
      if (!is_local && covered + (overlap == 0 ? taken : 0) > 0) {
        throw Error("in the trace, an exchange begins before the previous one has ended");
      }
      if (overlap == 0) {
        if (steps > taken) out.push_back({run.step, steps - taken});
        left -= steps;
        continue;
      }
      if (taken == 0) out.push_back({JointStep(run.step.size()), 1});
      if (out.empty() || out.back().step != run.step) out.push_back({run.step, 0});
      out.back().steps += overlap;
      covered = overlap;
      --left;
    }
  }
  if (covered > 0) throw Error(fmt::format("the trace ends {} steps before the end of an exchange", covered));
  return out;
}

// Returns 0 to max_samples - 1 in an order whose beginnings are evenly spread: 0, 8, 4, 12, 2 and so on.
std::vector<std::int64_t> spread_order() {
  std::vector<std::int64_t> order = {0};
  while (std::ssize(order) < max_samples) {
    const std::int64_t distance = max_samples / std::ssize(order) / 2;
    for (std::size_t i = 0, end = order.size(); i < end; ++i) order.push_back(order[i] + distance);
  }
  return order;
}

// Returns at most max_samples of the steps, evenly spaced, so that each occurs in proportion to its number of steps; or
// one of them if all are the same.
std::vector<JointStep> samples_of(const std::vector<JointRun>& runs) {
  if (std::ranges::all_of(runs, [&](const JointRun& run) { return run.step == runs.front().step; }))
    return {runs.front().step};
  std::int64_t steps = 0;
  for (const JointRun& run : runs) steps += run.steps;
  const std::int64_t count = std::min(steps, max_samples);
  std::vector<JointStep> out;
  for (const std::int64_t place : spread_order()) {
    if (place >= count) continue;
    std::int64_t left = (2 * place + 1) * steps / (2 * count);  // the middle of its share
    const auto run =
        std::ranges::find_if(runs, [&left](const JointRun& each) { return (left -= each.steps) < 0; });
    out.push_back(run->step);
  }
  return out;
}

}  // namespace

double Schedule::train_time_s(std::int64_t steps, const std::vector<double>& class_times_s) const {
  double time_s = 0;
  for (const Run& run : runs) {
    const std::int64_t taken = std::min(run.steps, steps);
    time_s += static_cast<double>(taken) * class_times_s[run.step_class];
    steps -= taken;
  }
  return time_s;
}

Schedule schedule_of(const CommunicationTrace& trace) {
  Schedule schedule;
  std::map<Kind, std::size_t> numbers;
  // The runs of each class, in the order of training, with their numbers of samples instead of steps.
  std::vector<std::vector<JointRun>> members;
  for (const JointRun& joint : with_overlaps(joint_runs(trace), trace)) {
    Kind kind = kind_of(joint.step, trace);
    kind.starts = schedule.runs.empty();
    const auto [entry, is_new] = numbers.try_emplace(std::move(kind), numbers.size());
    const std::size_t number = entry->second;
    if (is_new) {
      schedule.classes.push_back(
          {.steps_per_sample = std::max<std::int64_t>(1, overlap_of(joint.step, trace))});
      members.emplace_back();
    }
    StepClass& own = schedule.classes[number];
    own.steps += joint.steps;
    members[number].push_back({joint.step, joint.steps / own.steps_per_sample});
    if (!schedule.runs.empty() && schedule.runs.back().step_class == number) {
      schedule.runs.back().steps += joint.steps;
    } else {
      schedule.runs.push_back({number, joint.steps});
    }
  }
  for (std::size_t c = 0; c < members.size(); ++c) schedule.classes[c].samples = samples_of(members[c]);
  return schedule;
}

}  // namespace thinpipe
