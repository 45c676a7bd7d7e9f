// SPDX-License-Identifier: Apache-2.0
#include "harness/executors/report_pipe.hh"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/child_process.hh"
#include "common/support/file_descriptor.hh"
#include "common/support/tests/temporary_folder.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class ReportPipeTest : public testing::Test {
 protected:
  ReportPipeTest() {
    pipe_.emplace(loop_, path());
    pipe_->watch([this](const std::string& line) {
      lines_.push_back(line);
      if (lines_.size() == expected_) loop_.stop();
    });
  }

  fs::path path() const { return folder_.path() / "reports"; }
  ChildProcess shell(const std::string& script) const {
    return ChildProcess({.arguments = {"/bin/sh", "-c", script}, .environment = {{"P", path()}}});
  }
  // Returns the first lines.
  std::vector<std::string> read(std::size_t expected) {
    expected_ = expected;
    loop_.run();
    return lines_;
  }

  TemporaryFolder folder_;
  boost::asio::io_context loop_;
  std::optional<ReportPipe> pipe_;
  std::vector<std::string> lines_;
  std::size_t expected_ = 0;
};

TEST_F(ReportPipeTest, TakesLinesOfOneWriterAfterAnother) {
  const ChildProcess writer = shell("echo one > $P; echo two > $P; (echo three > $P)");
  EXPECT_THAT(read(3), ElementsAre("one", "two", "three"));
}

TEST_F(ReportPipeTest, KeepsTheLinesOfSeveralWritersWhole) {
  const std::string write = "for i in $(seq 300); do printf '%02000d\\n' $i > $P; done";
  const ChildProcess one = shell(write);
  const ChildProcess other = shell(write);
  for (const std::string& line : read(600)) ASSERT_EQ(line.size(), 2000);
}

// The writers are gone before anyone reads, as at the end of a script.
TEST_F(ReportPipeTest, HoldsWhatWasWrittenUntilItIsDrained) {
  ASSERT_TRUE(shell("echo one > $P; echo two > $P").wait().ok());
  pipe_->drain();
  EXPECT_THAT(lines_, ElementsAre("one", "two"));
  pipe_->drain();
  EXPECT_EQ(lines_.size(), 2) << "an empty pipe does not block";
}

TEST_F(ReportPipeTest, ReplacesALeftoverAndIsRemoved) {
  pipe_.reset();
  EXPECT_FALSE(fs::exists(path()));
  ASSERT_TRUE(shell("echo text > $P").wait().ok());
  pipe_.emplace(loop_, path());
  EXPECT_TRUE(fs::is_fifo(path()));
}

}  // namespace
}  // namespace thinpipe
