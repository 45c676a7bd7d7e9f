// More controllers of one sweep beside this process, for runs that do not disturb each other: each takes the
// runs that no other is at, by their locks.
#pragma once

#include <string>
#include <vector>

#include "common/support/child_process.hh"

namespace thinpipe {

class SideControllers {
 public:
  // `arguments` are this program's own, of `thinpipe run`. Their tables go nowhere: the caller's has all
  // runs.
  SideControllers(const std::vector<std::string>& arguments, int count);
  // When the caller's own sweep has ended, either there is nothing left to do or all is to stop.
  ~SideControllers();
  SideControllers(const SideControllers&) = delete;
  SideControllers& operator=(const SideControllers&) = delete;

 private:
  std::vector<ChildProcess> controllers_;
};

}  // namespace thinpipe
