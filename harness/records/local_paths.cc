// SPDX-License-Identifier: Apache-2.0
#include "harness/records/local_paths.hh"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>

namespace thinpipe {

namespace fs = std::filesystem;

namespace {

// For folders to which paths become relative.
constexpr const char* here = ".";

// Returns whether a character continues the name of a file, so that "/home/a" is no part of "/home/ab".
bool continues_name(char c) {
  constexpr std::string_view others = "_-.~+@";
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || others.find(c) != std::string_view::npos ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Returns the place of `folder` as the beginning of a path in `text`, from `start` on; npos if there is none.
std::size_t find_folder(const std::string& text, const std::string& folder, std::size_t start) {
  for (std::size_t found = text.find(folder, start); found != std::string::npos;
       found = text.find(folder, found + 1)) {
    const std::size_t end = found + folder.size();
    const bool begins = found == 0 || (!continues_name(text[found - 1]) && text[found - 1] != '/');
    if (begins && (end == text.size() || !continues_name(text[end]))) return found;
  }
  return std::string::npos;
}

void for_each_string(Json& value, const auto& change) {
  if (value.is_string()) value = change(value.get<std::string>());
  if (!value.is_structured()) return;
  for (Json& member : value) for_each_string(member, change);
}

}  // namespace

LocalFolders local_folders(const fs::path& results, const fs::path& experiment) {
  const char* const home = std::getenv("HOME");
  return {.results = fs::absolute(results),
          .experiment = experiment.empty() ? experiment : fs::absolute(experiment),
          .current = fs::current_path(),
          .temporary = fs::temp_directory_path(),
          .home = home == nullptr ? "" : home};
}

LocalPaths::LocalPaths(LocalFolders folders) : folders_(std::move(folders)) {
  const auto add = [this](const fs::path& folder, const char* name) {
    fs::path path = folder.lexically_normal();
    if (!path.has_filename()) path = path.parent_path();  // "/tmp/"
    if (path.is_absolute() && path.has_relative_path()) names_.emplace_back(path.string(), name);
  };
  add(folders_.results, here);
  add(folders_.experiment, here);
  add(folders_.current, here);
  add(folders_.temporary, "$TMPDIR");
  add(folders_.home, "~");
  std::ranges::stable_sort(names_, std::ranges::greater{},
                           [](const auto& name) { return name.first.size(); });
}

std::string LocalPaths::in_text(std::string text) const {
  for (const auto& [folder, name] : names_) {
    for (std::size_t found = find_folder(text, folder, 0); found != std::string::npos;
         found = find_folder(text, folder, found + 1)) {
      const std::size_t end = found + folder.size();
      const bool has_more = end + 1 < text.size() && text[end] == '/' && continues_name(text[end + 1]);
      const bool vanishes = name == here && has_more;
      text.replace(found, folder.size() + (vanishes ? 1 : 0), vanishes ? "" : name);
    }
  }
  return text;
}

std::string LocalPaths::in_config(std::string text) const {
  const bool is_local = text.starts_with('/') && std::ranges::any_of(names_, [&text](const auto& name) {
                          return find_folder(text, name.first, 0) == 0;
                        });
  if (!is_local || folders_.experiment.empty()) return in_text(std::move(text));
  return fs::path(text).lexically_relative(folders_.experiment.lexically_normal()).string();
}

Json LocalPaths::without(Json record) const {
  for (auto& [member, value] : record.items()) {
    if (member == "config") {
      for_each_string(value, [this](std::string text) { return in_config(std::move(text)); });
    } else {
      for_each_string(value, [this](std::string text) { return in_text(std::move(text)); });
    }
  }
  return record;
}

}  // namespace thinpipe
