// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/file_descriptor.hh"
#include "common/support/tests/paths.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(ReportCommand, WritesOneFormatToStandardOutput) {
  const Program program;
  EXPECT_THAT(program.run({"report", quickstart_records(), "--csv"}).output, StartsWith("experiment,label,"));
  EXPECT_THAT(program.run({"report", quickstart_records(), "--markdown"}).output, StartsWith("| method |"));
  const auto both = program.run({"report", quickstart_records(), "--csv", "--markdown"});
  EXPECT_EQ(both.status.code, 2);
  EXPECT_EQ(both.output, "");
  EXPECT_THAT(both.errors, HasSubstr("only one of them can be written to standard output"));
}

TEST(ReportCommand, WritesFilesBesideWhatIsPrinted) {
  const Program program;
  const fs::path page = program.folder() / "report.html";
  const fs::path curves = program.folder() / "new" / "curves";
  const auto ended =
      program.run({"report", quickstart_records(), "--csv", "--html", page, "--tensorboard", curves});
  EXPECT_EQ(ended.status.code, 0);
  EXPECT_THAT(ended.output, StartsWith("experiment,label,"));
  EXPECT_THAT(ended.errors, AllOf(HasSubstr("wrote " + page.string()), HasSubstr("wrote 6 event files")));
  EXPECT_THAT(read_file(page), StartsWith("<!doctype html>"));
  EXPECT_TRUE(fs::exists(curves / "dense" / "events.out.tfevents.thinpipe"));
}

TEST(ReportCommand, RefusesAPlaceThatCannotHoldThePage) {
  const Program program;
  const auto missing =
      program.run({"report", quickstart_records(), "--html", program.folder() / "no" / "report.html"});
  EXPECT_EQ(missing.status.code, 2);
  EXPECT_THAT(missing.errors, AllOf(HasSubstr("does not exist"), HasSubstr("create it first")));
  const auto folder = program.run({"report", quickstart_records(), "--html", program.folder()});
  EXPECT_EQ(folder.status.code, 2);
  EXPECT_THAT(folder.errors, HasSubstr("is not a plain file"));
  const fs::path link = program.folder() / "link";
  fs::create_symlink("elsewhere", link);
  EXPECT_EQ(program.run({"report", quickstart_records(), "--html", link}).status.code, 2)
      << "/dev/stdout is a link";
  EXPECT_TRUE(fs::is_symlink(link));
}

TEST(ReportCommand, WritesATimelineOfTheIterationsOfARun) {
  const Program program;
  ASSERT_EQ(program.run(program.run_arguments(program.experiment(loopback))).status.code, 0);
  const fs::path file = program.folder() / "trace.json";
  const auto ended =
      program.run({"report", program.results() / "test", "--perfetto", file, "--iterations", "2..3"});
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr("wrote " + file.string()));
  const Json trace = parse_json_file(file);
  std::vector<std::string> names;
  for (const Json& event : trace.at("traceEvents")) names.push_back(event.at("name"));
  EXPECT_THAT(names, AllOf(testing::Contains("iteration 2"), testing::Contains("iteration 3"),
                           testing::Not(testing::Contains("iteration 1")),
                           testing::Not(testing::Contains("iteration 4"))));
}

TEST(ReportCommand, RefusesATimelineOfWhatItDoesNotHave) {
  const Program program;
  const fs::path file = program.folder() / "trace.json";
  const auto errors_of = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"report", quickstart_records()});
    const auto ended = program.run(more);
    EXPECT_EQ(ended.status.code, 2);
    return ended.errors;
  };
  EXPECT_THAT(errors_of({"--iterations", "1..2"}), HasSubstr("--perfetto"));
  EXPECT_THAT(errors_of({"--perfetto", file, "--iterations", "5..4"}), HasSubstr("must be FIRST..LAST"));
  EXPECT_THAT(errors_of({"--perfetto", file, "--run", "none"}),
              HasSubstr("no run of these results has this id"));
  EXPECT_THAT(errors_of({"--perfetto", file}), HasSubstr("has no iterations 1 to 10 with times"));
  EXPECT_FALSE(fs::exists(file));
}

TEST(ReportCommand, RefusesAPlaceThatCannotHoldTheCurves) {
  const Program program;
  const fs::path file = program.folder() / "file";
  write_all(FileDescriptor::open(file, O_WRONLY | O_CREAT), "mine", "write a file");
  const auto ended = program.run({"report", quickstart_records(), "--tensorboard", file});
  EXPECT_EQ(ended.status.code, 2);
  EXPECT_THAT(ended.errors, HasSubstr("is not a folder"));
  EXPECT_EQ(read_file(file), "mine");
}

}  // namespace
}  // namespace thinpipe
