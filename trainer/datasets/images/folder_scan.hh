// SPDX-License-Identifier: Apache-2.0
// Finds the images in a folder with a folder for each class: FOLDER/train/CLASS/… and FOLDER/test/CLASS/….
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace thinpipe::trainer {

struct ImageFile {
  std::string path;  // below the scanned folder: "train/cat/1.jpg"
  std::uint64_t size_bytes = 0;
  std::int64_t modified_ns = 0;  // since 1970
  std::int64_t label = 0;
};

struct ImageFolder {
  std::vector<std::string> classes;  // sorted by bytes; a class's label is its index
  // Of each class the first image, then of each the second, and so on: a beginning of the list has all
  // classes. The images of a class are sorted by their paths.
  std::vector<ImageFile> train;
  std::vector<ImageFile> test;
};

// Scans the folder. `test_folder` names the folder below it with the test images; by default the one of
// "test" and "val" that exists. Images are files that end in .jpg, .jpeg or .png, at any depth below a
// class's folder. Hidden files, and files that are no images, are ignored; links to folders are followed only
// for classes. Throws Error that names the folder or file and the reason if there is no image in a class, if
// the two parts have different classes, or if an image has another format.
ImageFolder scan_image_folder(const std::filesystem::path& folder,
                              const std::optional<std::string>& test_folder);

}  // namespace thinpipe::trainer
