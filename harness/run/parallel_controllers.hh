// SPDX-License-Identifier: Apache-2.0
// Further controllers of one sweep, in parallel with this process, for runs that do not disturb each other.
// Each takes runs whose lock no other controller holds.
#pragma once

#include <string>
#include <vector>

#include "common/support/child_process.hh"

namespace thinpipe {

class ParallelControllers {
 public:
  // `arguments`: this program's own, of `thinpipe run`. Discards the controllers' tables, because the
  // caller's has all runs.
  ParallelControllers(const std::vector<std::string>& arguments, int count);
  // Ends the controllers. The caller's sweep has ended, so nothing is left to do or everything is to stop.
  ~ParallelControllers();
  ParallelControllers(const ParallelControllers&) = delete;
  ParallelControllers& operator=(const ParallelControllers&) = delete;

 private:
  std::vector<ChildProcess> controllers_;
};

}  // namespace thinpipe
