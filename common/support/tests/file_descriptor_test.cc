// SPDX-License-Identifier: Apache-2.0
#include "common/support/file_descriptor.hh"

#include <cerrno>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "common/support/exception.hh"
#include "common/support/tests/temporary_folder.hh"

namespace thinpipe {
namespace {

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

TEST(FileDescriptor, ClosesOnceAndMoves) {
  int number = -1;
  {
    FileDescriptor first = FileDescriptor::open("/dev/null", O_RDONLY);
    number = first.get();
    const FileDescriptor second = std::move(first);
    EXPECT_EQ(second.get(), number);
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(FileDescriptor, AssignmentClosesWhatItHeld) {
  FileDescriptor first = FileDescriptor::open("/dev/null", O_RDONLY);
  const int number = first.get();
  first = FileDescriptor();
  EXPECT_FALSE(is_open(number));
  EXPECT_FALSE(first);
}

TEST(FileDescriptor, OpenClosesOnExecAndNamesThePathItCannotOpen) {
  const FileDescriptor null = FileDescriptor::open("/dev/null", O_RDONLY);
  EXPECT_EQ(::fcntl(null.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  try {
    FileDescriptor::open("/no/such/file", O_RDONLY);
    FAIL() << "opened";
  } catch (const SystemError& error) {
    EXPECT_STREQ(error.what(), "open /no/such/file: No such file or directory");
  }
}

TEST(Pipe, CarriesBytesToEndOfFile) {
  Pipe pipe = Pipe::create();
  write_all(pipe.write_end, "twelve bytes", "write to the pipe");
  pipe.write_end.reset();
  EXPECT_EQ(read_to_end(pipe.read_end, "read from the pipe"), "twelve bytes");
}

TEST(ReadFile, NamesAFileThatIsMissing) {
  EXPECT_THROW(read_file("/no/such/file"), SystemError);
}

// A named pipe may never get a writer, so neither function may wait for one.
TEST(NamedPipe, IsRefusedIfNobodyWrites) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THROW(open_regular_file(path), Error);
  EXPECT_THROW(read_file(path), Error);
}

TEST(NamedPipe, IsReadToItsEndIfSomebodyDoes) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&path] {
    const FileDescriptor end = FileDescriptor::open(path, O_WRONLY);
    write_all(end, "in two ", "write");
    write_all(end, "parts", "write");
  });
  EXPECT_EQ(read_file(path), "in two parts");
  writer.join();
}

TEST(OpenRegularFile, RefusesFoldersAndDevices) {
  EXPECT_THROW(open_regular_file("/dev/zero"), Error);
  EXPECT_THROW(open_regular_file("/"), Error);
}

}  // namespace
}  // namespace thinpipe
