// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/machine_names.hh"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string_view>

#include <fmt/format.h>

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

bool has_digit(const std::string& text) {
  return std::ranges::any_of(text, [](unsigned char each) { return std::isdigit(each) != 0; });
}

// The clock by which the kernel counts time, which unlike "cpu MHz" is the same at every reading: it counts two
// bogomips per megahertz.
std::optional<std::string> clock_of(const std::filesystem::path& file) {
  const auto text = field_of(file, "bogomips");
  if (!text) return std::nullopt;
  char* end = nullptr;
  const double bogomips = std::strtod(text->c_str(), &end);
  if (end == text->c_str()) return std::nullopt;
  return fmt::format("{:.2f} GHz", bogomips / 2 / 1e3);
}

}  // namespace

std::optional<std::string> cpu_name(const std::filesystem::path& file) {
  auto name = field_of(file, "model name");
  if (!name || has_digit(*name)) return name;
  if (const auto family = field_of(file, "cpu family")) *name += ", family " + *family;
  if (const auto model = field_of(file, "model\t")) *name += ", model " + *model;
  if (const auto clock = clock_of(file)) *name += ", " + *clock;
  return name;
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
