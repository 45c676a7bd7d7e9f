// SPDX-License-Identifier: Apache-2.0
// The time series of every capped link during a run, links.jsonl in the run's folder. docs/reference/records.md describes
// the format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "common/support/file_descriptor.hh"
#include "common/support/json_object.hh"
#include "netem/kernel/counters.hh"

namespace thinpipe {

// What a series contains. Times are of the monotonic clock; readings are Network::counters().
class LinkSeries {
 public:
  // Starts the file at this first reading. Throws SystemError.
  LinkSeries(const std::filesystem::path& file, double samples_per_s,
             const std::vector<netem::LinkCounters>& first);

  // Starts it anew: what came before does not belong to training.
  void restart(const std::vector<netem::LinkCounters>& first);

  // Takes a reading, and writes a sample if one is due. Readings between samples show how long the queue became.
  // Throws SystemError if the file cannot be written.
  void add(const std::vector<netem::LinkCounters>& reading);

  // Rank 0 has reported the end of this iteration, or an evaluation after it: `what` is "iteration" or "evaluation".
  void mark(const char* what, std::int64_t iteration, double now_s);

  // Writes the last sample, up to this reading, after which there are none.
  void end(const std::vector<netem::LinkCounters>& last);

 private:
  void write(const std::vector<netem::LinkCounters>& reading);
  void write_line(const Json& line) const;

  std::filesystem::path path_;
  FileDescriptor file_;
  double period_s_;
  double begin_s_ = 0;
  double due_s_ = 0;                           // the next sample
  std::vector<netem::LinkCounters> written_;   // the reading of the last sample
  std::vector<std::int64_t> max_queue_bytes_;  // since then
  bool is_idle_ = false;                       // the last sample has nothing but zeros
  bool ended_ = false;
};

}  // namespace thinpipe
