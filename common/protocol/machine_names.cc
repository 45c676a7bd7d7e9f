#include "common/protocol/machine_names.hh"

#include <fstream>
#include <set>

namespace thinpipe {
namespace {

// Returns the text after the colon of the first line that begins with `key`.
std::optional<std::string> field_of(const std::filesystem::path& file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    return line.substr(std::min(line.find_first_not_of(" \t", colon + 1), line.size()));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> cpu_name() {
  return field_of("/proc/cpuinfo", "model name");
}

std::optional<std::string> gpu_name(const std::filesystem::path& driver) {
  std::error_code no_driver;
  std::set<std::filesystem::path> gpus;  // in order of their bus addresses
  for (const auto& entry : std::filesystem::directory_iterator(driver / "gpus", no_driver))
    gpus.insert(entry.path());
  if (gpus.empty()) return std::nullopt;
  return field_of(*gpus.begin() / "information", "Model");
}

}  // namespace thinpipe
