// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/images/image_cache.hh"

#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/exception.hh"
#include "trainer/datasets/images/tests/image_bytes.hh"
#include "trainer/datasets/tests/directory.hh"

namespace thinpipe::trainer {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

const ImageForm form{.shorter_side = 2, .side = 2, .channels = 3};

std::string square(std::uint8_t level) {
  return encode_png(2, 2, std::vector<std::uint8_t>(12, level));
}

class ImageCache : public DirectoryTest {
 protected:
  ImageCache() {
    write("data/train/a/1.png", square(10));
    write("data/train/b/1.png", square(30));
    write("data/test/a/1.png", square(50));
    write("data/test/b/1.png", square(70));
    fs::create_directory(path("cache"));
  }

  CachedImages open(const ImageForm& wanted = form, const std::string& folder = "data") const {
    return open_cached_images(path("cache"), path(folder), scan_image_folder(path(folder), {}), wanted);
  }

  std::string refusal() const {
    try {
      open();
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

  // Without the locks, which stay.
  std::vector<fs::path> cached_files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(path("cache"))) {
      if (entry.path().extension() != ".lock") files.push_back(entry.path());
    }
    return files;
  }

  // Replaces the content of a file of the same size without a trace in its modification time.
  void replace_secretly(const std::string& name, const std::string& bytes) const {
    const auto before = fs::last_write_time(path(name));
    ASSERT_EQ(fs::file_size(path(name)), bytes.size());
    write(name, bytes);
    fs::last_write_time(path(name), before);
  }
};

TEST_F(ImageCache, HoldsTrainingImagesThenTestImages) {
  const CachedImages cached = open();
  const auto bytes = cached.file->bytes();
  for (std::size_t image = 0; image < 4; ++image) {
    for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(bytes[12 * image + i], 10 + 20 * image);
  }
  EXPECT_THAT(cached.mean, testing::Each(testing::DoubleNear(20.0 / 255, 1e-12)));  // of 10 and 30
  EXPECT_THAT(cached.deviation, testing::Each(testing::DoubleNear(10.0 / 255, 1e-12)));
  EXPECT_EQ(cached.mean.size(), 3);
}

TEST_F(ImageCache, DecodesOnce) {
  const std::string hash = open().content_hash;
  replace_secretly("data/train/a/1.png", std::string(square(10).size(), 'x'));
  EXPECT_EQ(open().content_hash, hash) << "found by size and time, so the file was not read again";
  fs::last_write_time(path("data/train/a/1.png"), fs::file_time_type::clock::now());
  EXPECT_THAT(refusal(), HasSubstr("not an image"));
}

TEST_F(ImageCache, TheHashGoesByTheContentOfTheFiles) {
  const std::string hash = open().content_hash;
  fs::copy(path("data"), path("copy"), fs::copy_options::recursive);
  fs::rename(path("copy/train/a/1.png"), path("copy/train/a/renamed.png"));
  EXPECT_EQ(open(form, "copy").content_hash, hash);
  EXPECT_EQ(open({.shorter_side = 4, .side = 3, .channels = 1}).content_hash, hash);
  write("copy/train/a/renamed.png", square(11));
  EXPECT_NE(open(form, "copy").content_hash, hash);
}

TEST_F(ImageCache, EachFormHasItsOwnFile) {
  open();
  const CachedImages grey = open({.shorter_side = 4, .side = 3, .channels = 1});
  EXPECT_EQ(grey.file->bytes()[0], 10);
  EXPECT_EQ(grey.file->bytes()[9], 30);
  EXPECT_EQ(grey.mean.size(), 1);
  EXPECT_EQ(cached_files().size(), 2);
}

TEST_F(ImageCache, ADamagedFileIsMadeAgain) {
  const std::string hash = open().content_hash;
  const fs::path file = cached_files().at(0);
  for (const std::uintmax_t size : {fs::file_size(file) - 1, std::uintmax_t{100}, std::uintmax_t{0}}) {
    fs::resize_file(file, size);
    EXPECT_EQ(open().content_hash, hash) << size;
  }
}

TEST_F(ImageCache, LeftoversOfAKilledProcessAreRemoved) {
  open();
  const fs::path file = cached_files().at(0);
  fs::remove(file);
  write("cache/." + file.filename().string() + ".12345.tmp", "half");
  open();
  EXPECT_THAT(cached_files(), testing::ElementsAre(file));
}

TEST_F(ImageCache, SeveralProcessesDecodeOnce) {
  // Descriptors of one process exclude each other like those of several.
  std::vector<std::string> hashes(6);
  std::vector<fs::file_time_type> times(6);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      threads.emplace_back([&, i] {
        hashes[i] = open().content_hash;
        times[i] = fs::last_write_time(cached_files().at(0));
      });
    }
  }
  EXPECT_THAT(hashes, testing::Each(hashes[0]));
  EXPECT_THAT(times, testing::Each(times[0]));
}

TEST_F(ImageCache, AllDamagedImagesAreListed) {
  write("data/train/a/2.jpg", "");
  write("data/test/b/2.png", square(1).substr(0, 50));
  EXPECT_THAT(refusal(), AllOf(HasSubstr("cannot decode 2 of 6 images: "),
                               HasSubstr(path("data/train/a/2.jpg") + ": the file is empty"),
                               HasSubstr(path("data/test/b/2.png") + ": truncated")));
  EXPECT_THAT(cached_files(), testing::IsEmpty());
  for (int i = 10; i < 40; ++i) write("data/train/a/" + std::to_string(i) + ".jpg", "no image");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("cannot decode 32 of 36 images"), HasSubstr("; and 22 more")));
}

}  // namespace
}  // namespace thinpipe::trainer
