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

// In a tree, each link separates two groups of workers, and each group needs the other's sum: the whole
// vector. Codes are smaller than the vector.
bool needs_whole_vector(const netem::Network& network, const ExchangeJob& job) {
  return network.topology().forwarding == netem::Forwarding::bridged && !job.way.starts_with("ternary");
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
  for (std::size_t i = 0; i < after.size(); ++i) {
    out.sent_bytes.push_back(static_cast<double>(after[i].bytes - before[i].bytes));
    if (needs_whole_vector(network, job) && out.sent_bytes.back() < out.summed_bytes)
      throw Error(
          fmt::format("{}: {} sent {:.0f} bytes, but {} all-reduces of {} bytes need at least {:.0f}: the "
                      "workers did not use the network",
                      job.way, after[i].name, out.sent_bytes.back(), job.repetitions + 1, 4 * job.elements,
                      out.summed_bytes));
  }
  return out;
}

}  // namespace thinpipe
