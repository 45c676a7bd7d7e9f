// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/benchmarks/exchange/measurement.hh"

#include <algorithm>

#include <fmt/format.h>

#include "common/support/exception.hh"

namespace thinpipe {
namespace {

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// A barrier lets the workers go one after the other. What a worker waits for one that has not begun is not the
// exchange's time.
double time_s(const std::vector<WorkerReport>& reports) {
  std::vector<double> times_s;
  for (std::size_t i = 0; i < reports.front().began_s.size(); ++i) {
    double last_began_s = reports.front().began_s[i];
    double last_ended_s = reports.front().ended_s[i];
    for (const WorkerReport& report : reports) {
      last_began_s = std::max(last_began_s, report.began_s[i]);
      last_ended_s = std::max(last_ended_s, report.ended_s[i]);
    }
    times_s.push_back(last_ended_s - last_began_s);
  }
  return median(times_s);
}

// Returns the least share of the vector that every capped direction carries per exchange. In a tree, each link separates
// two groups of workers. For a sum, each group needs the other's: the whole vector. If each worker sends a part to
// everyone, the link of one worker carries all parts but its own.
double least_share(const netem::Network& network, const ExchangeJob& job) {
  if (network.topology().forwarding != netem::Forwarding::bridged) return 0;
  if (job.way.starts_with("ternary")) return 0;  // codes are smaller than the vector
  const auto workers = static_cast<double>(network.hosts().size());
  return job.way == "everyone" ? (workers - 1) / workers : 1;
}

}  // namespace

Measurement measure(const netem::Network& network, const ExchangeJob& job) {
  const std::vector<netem::LinkCounters> before = network.counters();
  const std::vector<WorkerReport> reports = run_workers(network, job);
  const std::vector<netem::LinkCounters> after = network.counters();
  Measurement out = {.time_s = time_s(reports),
                     .machine_busy_s = reports.front().machine_busy_s,
                     .library = reports.front().library,
                     .summed_bytes = 4.0 * static_cast<double>(job.elements) * (job.repetitions + 1)};
  const double least_bytes = least_share(network, job) * out.summed_bytes;
  for (std::size_t i = 0; i < after.size(); ++i) {
    out.sent_bytes.push_back(static_cast<double>(after[i].bytes - before[i].bytes));
    if (out.sent_bytes.back() < least_bytes)
      throw Error(fmt::format(
          "{}: {} sent {:.0f} bytes, but {} exchanges of {} bytes need at least {:.0f}: the "
          "workers did not use the network",
          job.way, after[i].name, out.sent_bytes.back(), job.repetitions + 1, 4 * job.elements, least_bytes));
  }
  return out;
}

}  // namespace thinpipe
