// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/script_inputs.hh"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fnmatch.h>

#include "harness/plan/run_id.hh"

namespace thinpipe {

namespace fs = std::filesystem;

namespace {

// A tree with more folders is not searched to its end.
constexpr std::size_t max_folders = 5000;

bool is_skipped(const fs::path& folder) {
  const std::string name = folder.filename();
  std::error_code unreadable;
  return name.starts_with('.') || name == "__pycache__" || name == "site-packages" || name == "results" ||
         fs::exists(folder / "pyvenv.cfg", unreadable);
}

// Walks a folder and those below it, except the skipped ones.
class Walk {
 public:
  explicit Walk(fs::path root) : root_(std::move(root)) {}

  // Calls `visit` with each regular file.
  void files(const auto& visit) {
    step(root_, [&](const fs::directory_entry& entry) {
      if (entry.is_regular_file()) visit(entry.path());
    });
  }

  // Calls `visit` with each folder below the root.
  void folders(const auto& visit) {
    step(root_, [&](const fs::directory_entry& entry) {
      if (entry.is_directory() && !is_skipped(entry.path())) visit(entry.path());
    });
  }

 private:
  void step(const fs::path& folder, const auto& visit) {
    if (++folders_ > max_folders) {
      throw TooManyInputs(fmt::format("{} has more than {} folders below it", root_.string(), max_folders));
    }
    for (const auto& entry : fs::directory_iterator(folder, fs::directory_options::skip_permission_denied)) {
      visit(entry);
      if (entry.is_directory() && !entry.is_symlink() && !is_skipped(entry.path())) step(entry.path(), visit);
    }
  }

  fs::path root_;
  std::size_t folders_ = 0;
};

void add(const fs::path& file, const fs::path& root, std::set<fs::path>& files) {
  files.insert(file.lexically_normal());
  if (files.size() > max_script_inputs) {
    throw TooManyInputs(fmt::format("{} has more than {} such files", root.string(), max_script_inputs));
  }
}

bool has_wildcard(const std::string& name) {
  return name.find_first_of("*?[") != std::string::npos;
}

// Expands a pattern part by part.
class Expansion {
 public:
  Expansion(const fs::path& pattern, fs::path root, std::set<fs::path>& files)
      : parts_(pattern.begin(), pattern.end()), root_(std::move(root)), files_(files) {}

  void run() { expand(root_, 0); }

 private:
  void expand(const fs::path& at, std::size_t part) {
    if (part == parts_.size()) return take(at);
    const std::string name = parts_[part];
    if (name == "**") {
      expand(at, part + 1);
      if (!fs::is_directory(at)) return;
      Walk(at).folders([&](const fs::path& folder) { expand(folder, part + 1); });
    } else if (!has_wildcard(name)) {
      if (const fs::path next = at / name; fs::exists(next)) expand(next, part + 1);
    } else if (fs::is_directory(at)) {
      for (const auto& entry : fs::directory_iterator(at, fs::directory_options::skip_permission_denied)) {
        const bool is_match =
            ::fnmatch(name.c_str(), entry.path().filename().c_str(), FNM_PERIOD | FNM_NOESCAPE) == 0;
        if (is_match && !(entry.is_directory() && is_skipped(entry.path()))) expand(entry.path(), part + 1);
      }
    }
  }

  void take(const fs::path& path) {
    if (fs::is_regular_file(path)) return add(path, root_, files_);
    if (fs::is_directory(path)) Walk(path).files([&](const fs::path& file) { add(file, root_, files_); });
  }

  std::vector<fs::path> parts_;
  fs::path root_;
  std::set<fs::path>& files_;
};

}  // namespace

std::vector<fs::path> python_files_below(const fs::path& folder) {
  std::set<fs::path> files;
  Walk(folder).files([&](const fs::path& file) {
    if (file.extension() == ".py") add(file, folder, files);
  });
  return {files.begin(), files.end()};
}

std::vector<fs::path> files_matching(const std::vector<std::string>& patterns, const fs::path& folder,
                                     const Place& place) {
  std::set<fs::path> files;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    std::set<fs::path> found;
    try {
      if (!patterns[i].empty()) Expansion(patterns[i], folder, found).run();
    } catch (const TooManyInputs& error) {
      throw InputError(place / i,
                       fmt::format("matches too much: {}; name the folders or files that decide the result",
                                   error.what()));
    }
    if (found.empty()) {
      throw InputError(place / i, fmt::format("no file below {} matches \"{}\"",
                                              folder.empty() ? "." : folder.string(), patterns[i]));
    }
    files.insert(found.begin(), found.end());
  }
  return {files.begin(), files.end()};
}

std::string content_hash_of_files(const std::vector<fs::path>& files, const fs::path& folder) {
  std::vector<std::pair<std::string, std::string>> content;
  for (const fs::path& file : files) {
    // A path need not be UTF-8, so its hash stands for it.
    content.emplace_back(content_hash(file.lexically_relative(folder.lexically_normal()).string()),
                         content_hash_of_file(file));
  }
  std::ranges::sort(content);
  return content_hash(Json(content).dump());
}

}  // namespace thinpipe
