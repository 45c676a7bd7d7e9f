// SPDX-License-Identifier: Apache-2.0
#include "harness/executors/line_splitter.hh"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe {
namespace {

using testing::ElementsAre;

std::vector<std::string> lines_of(LineSplitter splitter, const std::vector<std::string>& pieces) {
  std::vector<std::string> lines;
  const auto add = [&lines](const std::string& line) { lines.push_back(line); };
  for (const std::string& piece : pieces) splitter.take(piece, add);
  splitter.finish(add);
  return lines;
}

TEST(LineSplitter, JoinsThePiecesOfALine) {
  EXPECT_THAT(lines_of(LineSplitter(), {"on", "e\ntwo\n", "\nth", "ree"}),
              ElementsAre("one", "two", "", "three"));
}

TEST(LineSplitter, EndsLinesAsAProgressBarDoes) {
  EXPECT_THAT(lines_of(LineSplitter("\n\r"), {"10 %\r20 %\r", "done\n"}),
              ElementsAre("10 %", "20 %", "done"));
}

TEST(LineSplitter, DoesNotHoldALineWithoutAnEnd) {
  const std::string piece(LineSplitter::max_line_bytes / 2 + 1, 'x');
  const auto lines = lines_of(LineSplitter(), {piece, piece, piece});
  ASSERT_EQ(lines.size(), 2);
  EXPECT_EQ(lines[0].size(), 2 * piece.size());
}

}  // namespace
}  // namespace thinpipe
