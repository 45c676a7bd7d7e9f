#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string quickstart = THINPIPE_SOURCE_DIR "/results/reference/quickstart";

TEST(ReportCommand, WritesOneFormatToStandardOutput) {
  const Program program;
  EXPECT_THAT(program.run({"report", quickstart, "--csv"}).output, StartsWith("experiment,label,"));
  EXPECT_THAT(program.run({"report", quickstart, "--markdown"}).output, StartsWith("| method |"));
  const auto both = program.run({"report", quickstart, "--csv", "--markdown"});
  EXPECT_EQ(both.status.code, 2);
  EXPECT_EQ(both.output, "");
  EXPECT_THAT(both.errors, HasSubstr("only one of them can be written to standard output"));
}

}  // namespace
}  // namespace thinpipe
