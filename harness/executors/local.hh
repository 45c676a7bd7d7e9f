// SPDX-License-Identifier: Apache-2.0
// Workers as child processes on this machine.
#pragma once

#include <string>

#include "common/support/signals.hh"
#include "harness/executors/executor.hh"

namespace thinpipe {

class LocalExecutor : public Executor {
 public:
  // `trainer` is the path of thinpipe-trainer; `stop` must outlive this.
  LocalExecutor(std::string trainer, StopSignals& stop) : trainer_(std::move(trainer)), stop_(stop) {}

  Outcome execute(const Job& job, const JobObserver& observer) override;

 private:
  std::string trainer_;
  StopSignals& stop_;
};

// Returns up to `lines` lines from the end of a text file; none if it cannot be read.
std::vector<std::string> last_lines(const std::filesystem::path& file, std::size_t lines);

}  // namespace thinpipe
