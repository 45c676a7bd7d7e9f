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
