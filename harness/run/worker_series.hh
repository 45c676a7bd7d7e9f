// SPDX-License-Identifier: Apache-2.0
// The iterations of all workers of a run, workers.jsonl in the run's folder. docs/reference/records.md describes
// the format.
#pragma once

#include <cstdint>
#include <filesystem>

#include "common/protocol/event.hh"
#include "common/support/file_descriptor.hh"

namespace thinpipe {

class WorkerSeries {
 public:
  // Starts the file. Its times count from `begin_s` of the monotonic clock. Throws SystemError.
  WorkerSeries(const std::filesystem::path& file, double begin_s);

  // Writes a line for each of a worker's iterations. Throws SystemError.
  void add(std::int64_t rank, const event::WorkerTimes& times) const;

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  double begin_s_;
};

}  // namespace thinpipe
