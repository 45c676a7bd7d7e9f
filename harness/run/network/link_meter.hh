// SPDX-License-Identifier: Apache-2.0
// Bytes that the capped links carried during training, from the kernel's counters.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "netem/network.hh"
#include "netem/schedule_runner.hh"

namespace thinpipe {

// Returns the bytes that left a shaper between two readings; nullopt if the second is not later: the kernel's
// counter has restarted, or the end was never measured.
std::optional<std::uint64_t> bytes_between(const netem::LinkCounters& before,
                                           const netem::LinkCounters& after);

class LinkMeter {
 public:
  // Both must outlive this. Counts from now on, or from the last begin().
  LinkMeter(const netem::Network& network, const netem::ScheduleRunner& schedule_runner);

  // Bytes count from the first evaluation to the end of the last evaluation. Before, workers only connect and
  // agree on their weights.
  void begin();
  void end();

  // The readings at begin() and at end().
  const std::vector<netem::LinkCounters>& first() const { return before_; }
  const std::vector<netem::LinkCounters>& last() const { return after_; }

  double measured_s() const;  // from begin() to end()

  // Returns the share of its cap that the busiest direction used since the last returned value; nullopt if
  // that was a moment ago, or if no link has a cap.
  std::optional<double> use_since_last();

  // Return, by direction, bytes on the wire and the share of the mean cap in use during the train time; nullopt
  // if the link was down throughout.
  std::map<std::string, std::optional<std::int64_t>> wire_bytes() const;
  std::map<std::string, std::optional<double>> utilisation(double train_time_s) const;

 private:
  const netem::Network& network_;
  const netem::ScheduleRunner& schedule_runner_;
  std::vector<netem::LinkCounters> before_;
  std::vector<netem::LinkCounters> after_;
  std::vector<netem::LinkCounters> shown_;
};

}  // namespace thinpipe
