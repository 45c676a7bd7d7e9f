// SPDX-License-Identifier: Apache-2.0
#include "harness/run/worker_series.hh"

#include <cmath>
#include <optional>
#include <string>

#include <fcntl.h>

namespace thinpipe {
namespace {

// To a microsecond, which keeps lines short.
Json rounded_or_null(const std::optional<double>& time_s) {
  return time_s ? Json(std::round(*time_s * 1e6) / 1e6) : Json(nullptr);
}

}  // namespace

WorkerSeries::WorkerSeries(const std::filesystem::path& file, double begin_s)
    : path_(file),
      file_(FileDescriptor::open(file, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND)),
      begin_s_(begin_s) {}

void WorkerSeries::add(std::int64_t rank, const event::WorkerTimes& times) const {
  std::string lines;
  for (const event::WorkerIteration& iteration : times.iterations) {
    const Json line = {{"rank", rank},
                       {"iteration", iteration.iteration},
                       {"at_s", rounded_or_null(iteration.monotonic_s - begin_s_)},
                       {"iteration_time_s", rounded_or_null(iteration.iteration_time_s)},
                       {"compute_s", rounded_or_null(iteration.compute_s)},
                       {"exposed_exchange_s", rounded_or_null(iteration.exposed_exchange_s)}};
    lines += line.dump() + "\n";
  }
  write_all(file_, lines, "write " + path_.string());
}

}  // namespace thinpipe
