// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/images/folder_scan.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/exception.hh"
#include "trainer/datasets/tests/directory.hh"

namespace thinpipe::trainer {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FolderScan : public DirectoryTest {
 protected:
  FolderScan() {
    for (const char* name : {"train/cat/1.jpg", "train/dog/1.png", "test/cat/x.jpg", "test/dog/y.jpg"})
      write(name, "x");
  }

  ImageFolder scan(const std::optional<std::string>& test_folder = {}) const {
    return scan_image_folder(path(), test_folder);
  }

  std::string refusal(const std::optional<std::string>& test_folder = {}) const {
    try {
      scan(test_folder);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }
};

std::vector<std::string> paths(const std::vector<ImageFile>& files) {
  std::vector<std::string> out;
  for (const ImageFile& file : files) out.push_back(file.path);
  return out;
}

TEST_F(FolderScan, LabelsGoByTheSortedNamesOfClasses) {
  write("train/Zebra/1.jpg", "abc");
  write("test/Zebra/1.jpg", "abc");
  const ImageFolder found = scan();
  EXPECT_THAT(found.classes, ElementsAre("Zebra", "cat", "dog"));  // capitals first, as in Python
  EXPECT_THAT(paths(found.train), ElementsAre("train/Zebra/1.jpg", "train/cat/1.jpg", "train/dog/1.png"));
  EXPECT_EQ(found.train[0].label, 0);
  EXPECT_EQ(found.train[2].label, 2);
  EXPECT_EQ(found.train[0].size_bytes, 3);
  EXPECT_GT(found.train[0].modified_ns, 1'600'000'000'000'000'000);
}

TEST_F(FolderScan, ClassesAlternate) {
  write("train/dog/3.png", "x");
  write("train/dog/2.png", "x");
  EXPECT_THAT(paths(scan().train),
              ElementsAre("train/cat/1.jpg", "train/dog/1.png", "train/dog/2.png", "train/dog/3.png"));
  write("train/cat/images/2.JPEG", "x");  // deeper in the folder
  EXPECT_THAT(paths(scan().train),
              ElementsAre("train/cat/1.jpg", "train/dog/1.png", "train/cat/images/2.JPEG", "train/dog/2.png",
                          "train/dog/3.png"));
}

TEST_F(FolderScan, IgnoresHiddenFilesAndFilesThatAreNoImages) {
  for (const char* name : {"train/cat/._1.jpg", "train/cat/Thumbs.db", "train/README", "train/.git/a.jpg"})
    write(name, "x");
  EXPECT_THAT(paths(scan().train), ElementsAre("train/cat/1.jpg", "train/dog/1.png"));
}

TEST_F(FolderScan, FollowsLinksToClasses) {
  fs::rename(path("train/cat"), path("elsewhere"));
  fs::create_directory_symlink(path("elsewhere"), path("train/cat"));
  EXPECT_THAT(paths(scan().train), ElementsAre("train/cat/1.jpg", "train/dog/1.png"));
}

TEST_F(FolderScan, TestImagesAreInTestOrValOrWhereTheUserSays) {
  EXPECT_EQ(scan().test.front().path, "test/cat/x.jpg");
  fs::rename(path("test"), path("val"));
  EXPECT_EQ(scan().test.front().path, "val/cat/x.jpg");
  fs::copy(path("val"), path("test"), fs::copy_options::recursive);
  EXPECT_THAT(refusal(), HasSubstr("has both test and val: name one of them by test_folder"));
  EXPECT_EQ(scan("val").test.front().path, "val/cat/x.jpg");
  EXPECT_THAT(refusal("dev"), HasSubstr(path("dev") + " is not a folder"));
  fs::remove_all(path("test"));
  fs::remove_all(path("val"));
  EXPECT_THAT(refusal(), HasSubstr("neither a folder test nor a folder val"));
}

TEST_F(FolderScan, SaysWhatIsWrong) {
  fs::create_directory(path("train/bird"));
  EXPECT_THAT(refusal(),
              HasSubstr(path("train") + " has a class \"bird\", but " + path("test") + " has none"));
  fs::create_directory(path("test/bird"));
  EXPECT_THAT(refusal(), HasSubstr(path("train/bird") + " has no images: no file in it ends in .jpg"));
  write("train/bird/1.jpg", "x");
  EXPECT_THAT(refusal(), HasSubstr(path("test/bird") + " has no images"));
  write("test/bird/1.webp", "x");
  EXPECT_THAT(refusal(), HasSubstr(path("test/bird/1.webp") + " has a format that is not read: convert it"));
  fs::remove_all(path("train"));
  EXPECT_THAT(refusal(), HasSubstr(path("train") + " is not a folder"));
  fs::create_directory(path("train"));
  EXPECT_THAT(refusal(), HasSubstr(path("train") + " has no folders of classes"));
}

}  // namespace
}  // namespace thinpipe::trainer
