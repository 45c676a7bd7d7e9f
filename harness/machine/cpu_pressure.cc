#include "harness/machine/cpu_pressure.hh"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
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

// Returns the text of a file in /proc; empty if it does not exist or may not be read.
std::string read_if_allowed(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Names the descriptors of the schedstat files of the kernel's network threads, separated by spaces.
constexpr const char* passed_variable = "THINPIPE_NETWORK_WAITS";

std::vector<FileDescriptor> open_network_threads() {
  std::vector<FileDescriptor> files;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator("/proc", unreadable)) {
    if (!read_if_allowed(entry.path() / "comm").starts_with("ksoftirqd/")) continue;
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

std::optional<double> network_waits_s() {
  static const std::vector<FileDescriptor> threads = network_threads();
  std::optional<double> sum_s;
  for (const FileDescriptor& thread : threads) {
    std::array<char, 128> text{};
    const ssize_t size = ::pread(thread.get(), text.data(), text.size(), 0);
    if (size <= 0) continue;
    const auto wait_s = parse_schedstat_wait_s({text.data(), static_cast<std::size_t>(size)});
    if (wait_s) sum_s = sum_s.value_or(0) + *wait_s;
  }
  return sum_s;
}

Json share(std::optional<double> from_s, std::optional<double> to_s, double time_s) {
  if (!from_s || !to_s || time_s <= 0) return nullptr;
  return std::clamp((*to_s - *from_s) / time_s, 0.0, 1.0);
}

}  // namespace

std::optional<double> parse_schedstat_wait_s(const std::string& schedstat) {
  std::istringstream words(schedstat);
  double ran_ns = 0;
  double waited_ns = 0;
  if (!(words >> ran_ns >> waited_ns)) return std::nullopt;
  return 1e-9 * waited_ns;
}

std::optional<double> parse_pressure_s(const std::string& pressure) {
  const std::string key = " total=";
  const std::size_t end = pressure.find('\n');
  const std::size_t found = pressure.find(key);
  if (!pressure.starts_with("some ") || found >= end) return std::nullopt;
  std::istringstream number(pressure.substr(found + key.size(), end - found - key.size()));
  double total_us = 0;
  if (!(number >> total_us)) return std::nullopt;
  return 1e-6 * total_us;
}

CpuWaits read_cpu_waits() {
  return {
      .clock_s = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(),
      .controller_s = parse_schedstat_wait_s(read_if_allowed("/proc/self/schedstat")),
      .network_s = network_waits_s(),
      .machine_s = parse_pressure_s(read_if_allowed("/proc/pressure/cpu"))};
}

Json cpu_pressure(const CpuWaits& from, const CpuWaits& to, unsigned cpus) {
  const double time_s = to.clock_s - from.clock_s;
  return {{"controller", share(from.controller_s, to.controller_s, time_s)},
          {"network", share(from.network_s, to.network_s, time_s * cpus)},
          {"machine", share(from.machine_s, to.machine_s, time_s)}};
}

void pass_network_waits_to_sandbox() {
  std::string numbers;
  for (FileDescriptor& thread : open_network_threads()) {
    const int number = thread.release();
    system_call("pass a file to the sandbox", ::fcntl(number, F_SETFD, 0));
    numbers += fmt::format("{} ", number);
  }
  ::setenv(passed_variable, numbers.c_str(), 1);
}

}  // namespace thinpipe
