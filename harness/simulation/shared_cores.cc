// SPDX-License-Identifier: Apache-2.0
#include "harness/simulation/shared_cores.hh"

#include <algorithm>
#include <limits>

namespace thinpipe {

SharedCores::SharedCores(const MachineModel& model, std::size_t workers)
    : communication_first_(model.communication_first),
      workers_per_machine_(static_cast<std::size_t>(
          model.workers_per_machine.value_or(static_cast<std::int64_t>(std::max<std::size_t>(workers, 1))))),
      machines_((workers + workers_per_machine_ - 1) / workers_per_machine_, Cores(model.cores)) {}

void SharedCores::start(std::size_t rank, double cpu_s, Cores::Priority priority,
                        std::function<void()> at_end) {
  actions_.emplace(jobs_, std::move(at_end));
  machines_[rank / workers_per_machine_].start(
      cpu_s, communication_first_ ? priority : Cores::Priority::compute, jobs_++);
}

double SharedCores::next_completion_s() const {
  double next_s = std::numeric_limits<double>::infinity();
  for (const Cores& each : machines_) next_s = std::min(next_s, each.next_completion_s());
  return next_s;
}

void SharedCores::advance(double time_s, std::vector<std::function<void()>>& ended) {
  for (Cores& each : machines_) {
    for (const std::size_t job : each.advance(time_s))
      ended.push_back(std::move(actions_.extract(job).mapped()));
  }
}

}  // namespace thinpipe
