#include "harness/records/provenance.hh"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "git_revision.hh"

namespace thinpipe {
namespace {

// Returns the text after the first ": " of the first line that begins with `key`; null if there is none.
Json field_of(const std::filesystem::path& file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    return line.substr(std::min(line.find_first_not_of(" \t", colon + 1), line.size()));
  }
  return nullptr;
}

Json gpu() {
  const std::filesystem::path folder = "/proc/driver/nvidia/gpus";
  std::error_code no_driver;
  for (const auto& entry : std::filesystem::directory_iterator(folder, no_driver)) {
    return field_of(entry.path() / "information", "Model");
  }
  return nullptr;
}

}  // namespace

Json describe_program_and_machine() {
  utsname system{};
  system_call("get the kernel's name", ::uname(&system));
  return {{"version", THINPIPE_VERSION},
          {"git_commit", git_commit},
          {"dirty", git_dirty},
          {"compiler", THINPIPE_COMPILER},
          {"build_type", THINPIPE_BUILD_TYPE},
          {"kernel", fmt::format("{} {}", system.sysname, system.release)},
          {"cpu", field_of("/proc/cpuinfo", "model name")},
          {"cores", std::thread::hardware_concurrency()},
          {"memory_bytes", ::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE)},
          {"gpu", gpu()}};
}

std::string utc_now() {
  const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  return fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)),
                     now.time_since_epoch().count() % 1000);
}

}  // namespace thinpipe
