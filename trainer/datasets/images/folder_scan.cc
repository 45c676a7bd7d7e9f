// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/images/folder_scan.hh"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include "common/support/exception.hh"
#include "common/support/parallel.hh"
#include "trainer/datasets/images/image_file.hh"

namespace thinpipe::trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t ns_per_s = 1'000'000'000;

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

fs::path find_test_folder(const fs::path& folder, const std::optional<std::string>& named) {
  if (named) {
    if (!fs::is_directory(folder / *named)) {
      throw Error(fmt::format("{} is not a folder", (folder / *named).string()));
    }
    return *named;
  }
  const bool has_test = fs::is_directory(folder / "test");
  const bool has_val = fs::is_directory(folder / "val");
  if (has_test && has_val) {
    throw Error(fmt::format("{} has both test and val: name one of them by test_folder", folder.string()));
  }
  if (!has_test && !has_val) {
    throw Error(
        fmt::format("{} has neither a folder test nor a folder val, for the test images", folder.string()));
  }
  return has_test ? "test" : "val";
}

std::vector<std::string> find_classes(const fs::path& part) {
  if (!fs::is_directory(part)) throw Error(fmt::format("{} is not a folder", part.string()));
  std::vector<std::string> classes;
  for (const fs::directory_entry& entry : fs::directory_iterator(part)) {
    if (entry.is_directory() && !is_hidden(entry.path())) classes.push_back(entry.path().filename());
  }
  std::ranges::sort(classes);
  if (classes.empty()) throw Error(fmt::format("{} has no folders of classes", part.string()));
  return classes;
}

void expect_same_classes(const fs::path& train_part, const std::vector<std::string>& train,
                         const fs::path& test_part, const std::vector<std::string>& test) {
  std::vector<std::string> odd;
  std::ranges::set_symmetric_difference(train, test, std::back_inserter(odd));
  if (odd.empty()) return;
  const bool trained = std::ranges::binary_search(train, odd.front());
  throw Error(fmt::format("{} has a class \"{}\", but {} has none: both must have the same classes",
                          (trained ? train_part : test_part).string(), odd.front(),
                          (trained ? test_part : train_part).string()));
}

ImageFile describe_file(const fs::path& folder, const fs::path& path, std::int64_t label) {
  struct stat about {};
  system_call("look up " + path.string(), ::stat(path.c_str(), &about));
  return {.path = path.lexically_relative(folder),
          .size_bytes = static_cast<std::uint64_t>(about.st_size),
          .modified_ns = about.st_mtim.tv_sec * ns_per_s + about.st_mtim.tv_nsec,
          .label = label};
}

std::vector<ImageFile> find_images(const fs::path& folder, const fs::path& class_folder, std::int64_t label) {
  std::vector<ImageFile> images;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(class_folder)) {
    if (is_hidden(entry.path()) || !entry.is_regular_file()) continue;
    const ImageKind kind = image_kind(entry.path());
    if (kind == ImageKind::foreign) {
      throw Error(fmt::format("{} has a format that is not read: convert it to JPEG or PNG, or remove it",
                              entry.path().string()));
    }
    if (kind == ImageKind::readable) images.push_back(describe_file(folder, entry.path(), label));
  }
  if (images.empty()) {
    throw Error(
        fmt::format("{} has no images: no file in it ends in .jpg, .jpeg or .png", class_folder.string()));
  }
  std::ranges::sort(images, {}, &ImageFile::path);
  return images;
}

std::vector<ImageFile> scan_part(const fs::path& folder, const fs::path& part,
                                 const std::vector<std::string>& classes) {
  std::vector<std::vector<ImageFile>> of_class(classes.size());
  in_parallel(classes.size(), [&](std::size_t i) {
    of_class[i] = find_images(folder, part / classes[i], static_cast<std::int64_t>(i));
  });
  std::vector<ImageFile> all;
  bool more = true;
  for (std::size_t round = 0; more; ++round) {
    more = false;
    for (std::vector<ImageFile>& images : of_class) {
      if (round >= images.size()) continue;
      all.push_back(std::move(images[round]));
      more = true;
    }
  }
  return all;
}

}  // namespace

ImageFolder scan_image_folder(const fs::path& folder, const std::optional<std::string>& test_folder) {
  if (!fs::is_directory(folder)) throw Error(fmt::format("{} is not a folder", folder.string()));
  const fs::path train_part = folder / "train";
  ImageFolder found;
  found.classes = find_classes(train_part);
  const fs::path test_part = folder / find_test_folder(folder, test_folder);
  expect_same_classes(train_part, found.classes, test_part, find_classes(test_part));
  found.train = scan_part(folder, train_part, found.classes);
  found.test = scan_part(folder, test_part, found.classes);
  return found;
}

}  // namespace thinpipe::trainer
