// SPDX-License-Identifier: Apache-2.0
#include "common/support/log.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/file_descriptor.hh"
#include "common/support/tests/temporary_folder.hh"

namespace thinpipe {
namespace {

using testing::MatchesRegex;

TEST(Log, LinesHaveTimeInUtcAndLevel) {
  const TemporaryFolder folder;
  make_log_to_file(folder.path() / "log", "info")->warn("the {} was lost", "frame");
  EXPECT_THAT(read_file(folder.path() / "log"),
              MatchesRegex("20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]\\.[0-9]+Z "
                           "warning the frame was lost\n"));
}

TEST(Log, KeepsWhatIsAtLeastOfItsLevelAndAppends) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "log";
  for (const std::string& level : log_levels()) {
    const Log log = make_log_to_file(file, level);
    log->debug("d");
    log->info("i");
    log->warn("w");
    log->error("e");
  }
  const std::string text = read_file(file);
  std::string letters;  // the last of each line
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\n') letters.push_back(text[i - 1]);
  }
  EXPECT_EQ(letters, "diweiwewee");
}

}  // namespace
}  // namespace thinpipe
