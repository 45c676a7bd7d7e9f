// SPDX-License-Identifier: Apache-2.0
#include "harness/run/parallel_controllers.hh"

#include <csignal>
#include <filesystem>

#include <fcntl.h>

namespace thinpipe {

ParallelControllers::ParallelControllers(const std::vector<std::string>& arguments, int count) {
  std::vector<std::string> own = arguments;
  own.front() = std::filesystem::read_symlink("/proc/self/exe");
  own.emplace_back("--jobs=1");  // the last one counts
  const FileDescriptor nowhere = FileDescriptor::open("/dev/null", O_WRONLY);
  for (int i = 0; i < count; ++i) {
    controllers_.emplace_back(ChildProcess::Options{.arguments = own, .standard_output = nowhere.get()});
  }
}

ParallelControllers::~ParallelControllers() {
  for (ChildProcess& controller : controllers_) {
    try {
      controller.signal(SIGTERM);
      controller.wait();
    } catch (const std::exception&) {  // its own destructor kills it
    }
  }
}

}  // namespace thinpipe
