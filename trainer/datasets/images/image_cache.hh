// SPDX-License-Identifier: Apache-2.0
// Decoded images in one file, which is mapped into memory. Decoding a large folder takes minutes to hours, so
// it is done once, by one process; later starts open the file.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "trainer/base/mapped_file.hh"
#include "trainer/datasets/images/folder_scan.hh"

namespace thinpipe::trainer {

// The form in which images are kept.
struct ImageForm {
  std::int64_t shorter_side = 224;  // to which images are scaled, in pixels
  std::int64_t side = 224;          // of the square that is cut out of the middle
  std::int64_t channels = 3;        // 3: colour; 1: grey

  std::int64_t image_bytes() const { return channels * side * side; }
};

struct CachedImages {
  std::shared_ptr<const MappedFile> file;  // begins with the training images, then the test images, as planes
  std::string
      content_hash;  // of the bytes and labels of the images' files; independent of names and of the form
  std::vector<double> mean;       // per channel, of the training images' pixels, scaled to [0, 1]
  std::vector<double> deviation;  // of the same; 1 for a constant channel
};

// Opens the images of a scanned folder; decodes them first if there is no file of them in `cache`. A process
// waits for another that decodes the same images. The file's name depends on the folder's path, on the names,
// sizes, modification times and labels of the images, and on the form; it appears whole or not at all.
// Logs the progress. Throws Error that lists images that cannot be decoded, with the reasons.
CachedImages open_cached_images(const std::filesystem::path& cache, const std::filesystem::path& folder,
                                const ImageFolder& images, const ImageForm& form);

}  // namespace thinpipe::trainer
