// SPDX-License-Identifier: Apache-2.0
#include "harness/machine/network_threads.hh"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

// Names the descriptors of the threads' schedstat files, separated by spaces.
constexpr const char* passed_variable = "THINPIPE_NETWORK_THREADS";

std::vector<FileDescriptor> open_network_threads() {
  std::vector<FileDescriptor> files;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator("/proc", unreadable)) {
    std::ifstream comm(entry.path() / "comm");
    std::string name;
    if (!std::getline(comm, name) || !name.starts_with("ksoftirqd/")) continue;
    FileDescriptor file(::open((entry.path() / "schedstat").c_str(), O_RDONLY | O_CLOEXEC));
    if (file) files.push_back(std::move(file));
  }
  return files;
}

// Returns the files that the outer process has passed, which other programs do not inherit, or opens them.
std::vector<FileDescriptor> network_threads() {
  const char* const passed = std::getenv(passed_variable);
  if (passed == nullptr) return open_network_threads();
  std::vector<FileDescriptor> files;
  std::istringstream numbers(passed);
  ::unsetenv(passed_variable);  // other programs would take the numbers for files of their own
  for (int number = 0; numbers >> number;) {
    FileDescriptor file(number);
    if (::fcntl(number, F_SETFD, FD_CLOEXEC) == 0) files.push_back(std::move(file));
  }
  return files;
}

}  // namespace

std::optional<ThreadTimes> read_network_threads() {
  static const std::vector<FileDescriptor> threads = network_threads();
  std::optional<ThreadTimes> sum;
  for (const FileDescriptor& thread : threads) {
    std::array<char, 128> text{};
    const ssize_t size = ::pread(thread.get(), text.data(), text.size(), 0);
    if (size <= 0) continue;
    const auto times = parse_schedstat({text.data(), static_cast<std::size_t>(size)});
    if (!times) continue;
    if (!sum) sum.emplace();
    sum->ran_s += times->ran_s;
    sum->waited_s += times->waited_s;
  }
  return sum;
}

void pass_network_threads_to_sandbox() {
  std::string numbers;
  for (FileDescriptor& thread : open_network_threads()) {
    const int number = thread.release();
    system_call("pass a file to the sandbox", ::fcntl(number, F_SETFD, 0));
    numbers += fmt::format("{} ", number);
  }
  ::setenv(passed_variable, numbers.c_str(), 1);
}

std::optional<ThreadTimes> parse_schedstat(const std::string& schedstat) {
  std::istringstream words(schedstat);
  double ran_ns = 0;
  double waited_ns = 0;
  if (!(words >> ran_ns >> waited_ns)) return std::nullopt;
  return ThreadTimes{.ran_s = 1e-9 * ran_ns, .waited_s = 1e-9 * waited_ns};
}

}  // namespace thinpipe
