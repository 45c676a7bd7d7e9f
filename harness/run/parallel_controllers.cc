// SPDX-License-Identifier: Apache-2.0
#include "harness/run/parallel_controllers.hh"

#include <csignal>
#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

#include "common/support/exception.hh"

namespace thinpipe {

ParallelControllers::ParallelControllers(const std::vector<std::string>& arguments, int count) {
  std::vector<std::string> own = arguments;
  own.front() = std::filesystem::read_symlink("/proc/self/exe");
  own.emplace_back("--jobs=1");  // the last one counts
  const FileDescriptor nowhere = FileDescriptor::open("/dev/null", O_WRONLY);
  for (int i = 0; i < count; ++i) {
    // In groups of their own: the terminal's SIGINT would be a first request to stop, and the one below the second, at
    // which workers get no time for their checkpoints.
    controllers_.emplace_back(
        ChildProcess::Options{.arguments = own, .standard_output = nowhere.get(), .before_exec = [] {
                                system_call("leave the process group", ::setpgid(0, 0));
                              }});
  }
}

ParallelControllers::~ParallelControllers() {
  const auto for_each = [this](const auto& action) {
    for (ChildProcess& controller : controllers_) {
      try {
        action(controller);
      } catch (const std::exception&) {  // its own destructor kills it
      }
    }
  };
  for_each([](ChildProcess& controller) { controller.signal(SIGTERM); });
  for_each([](ChildProcess& controller) { controller.wait(); });
}

}  // namespace thinpipe
