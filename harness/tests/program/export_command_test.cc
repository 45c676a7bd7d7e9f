// SPDX-License-Identifier: Apache-2.0
// thinpipe export: what is in the file, in which order, and what happens if it cannot be written.
#include <algorithm>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"
#include "common/support/tests/paths.hh"
#include "harness/records/record.hh"
#include "harness/tests/private_mounts.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// Writes the records of the quickstart as the folders of runs, the second failed and the third interrupted.
std::vector<Json> write_run_folders(const fs::path& folder) {
  std::vector<Json> records = load_records(quickstart_records());
  records[1]["status"] = "failed";
  records[1]["error"] = {{"kind", "crash"}, {"message", "rank 3 ended"}};
  records[2]["status"] = "interrupted";
  for (const Json& record : records) {
    const fs::path run = folder / record.at("run_id").get<std::string>();
    fs::create_directories(run);
    std::ofstream(run / "run.json") << record_text(record);
    std::ofstream(run / "iterations.jsonl") << "{}";
  }
  return records;
}

TEST(ExportCommand, WritesALinePerRecordInTheOrderOfStartTimes) {
  const Program program;
  std::vector<Json> records = write_run_folders(program.results() / "q");
  const fs::path file = program.folder() / "q.jsonl";
  const auto ended = program.run({"export", program.results() / "q", "--output", file});
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_EQ(ended.output, "");
  EXPECT_THAT(ended.errors, HasSubstr("wrote 6 records to " + file.string()));
  std::ranges::sort(records, {}, started_at);
  std::string expected;
  for (const Json& record : records) expected += record_line(record);
  EXPECT_EQ(read_file(file), expected);
}

TEST(ExportCommand, ExportingAnExportedFileGivesTheSameBytes) {
  const Program program;
  write_run_folders(program.results() / "q");
  const fs::path first = program.folder() / "first.jsonl";
  const fs::path second = program.folder() / "second.jsonl";
  const fs::path beside = program.results() / "q" / "records.jsonl";
  ASSERT_EQ(program.run({"export", program.results() / "q", "--output", first}).status.code, 0);
  ASSERT_EQ(program.run({"export", first, "--output", second}).status.code, 0);
  EXPECT_EQ(read_file(second), read_file(first));
  // The same records again, from the run folders and from the file beside them.
  for (int time = 0; time < 2; ++time) {
    ASSERT_EQ(program.run({"export", program.results(), first, "--output", beside}).status.code, 0);
    EXPECT_EQ(read_file(beside), read_file(first));
  }
}

TEST(ExportCommand, ReportsAreThoseOfTheFolders) {
  const Program program;
  const fs::path folder = program.results() / "q";
  write_run_folders(folder);
  const fs::path alone = program.folder() / "alone" / "records.jsonl";
  fs::create_directory(alone.parent_path());
  ASSERT_EQ(program.run({"export", folder, "--output", alone}).status.code, 0);
  for (const std::string format : {"--json", "--csv", "--markdown"}) {
    const std::string of_folders = program.run({"report", folder, format}).output;
    EXPECT_EQ(program.run({"report", alone, format}).output, of_folders);
    EXPECT_EQ(program.run({"report", alone.parent_path(), format}).output, of_folders);
  }
}

TEST(ExportCommand, WhatNoReportCouldShowIsNamedAndLeftOut) {
  const Program program;
  const fs::path folder = program.results() / "q";
  const std::vector<Json> records = write_run_folders(folder);
  const fs::path cut_short = folder / records[0].at("run_id").get<std::string>() / "run.json";
  fs::resize_file(cut_short, 100);
  const fs::path file = program.folder() / "q.jsonl";
  const auto ended = program.run({"export", folder, "--output", file});
  EXPECT_EQ(ended.status.code, 0);
  EXPECT_THAT(ended.errors,
              AllOf(HasSubstr(cut_short.string() + " is left out: "), HasSubstr("wrote 5 records")));
  EXPECT_THAT(ended.errors, StartsWith(program.run({"report", folder}).errors));
  std::string text = read_file(file);
  text.replace(text.find('\n') + 1, 2, "[]");
  std::ofstream(file) << text;
  const auto report = program.run({"report", file});
  EXPECT_EQ(report.status.code, 0);
  EXPECT_THAT(report.errors, HasSubstr(file.string() + ":2 is left out: it is not a complete record"));
}

TEST(ExportCommand, TwoRecordsOfARunAreRefused) {
  const Program program;
  std::vector<Json> records = write_run_folders(program.results() / "a");
  records[4]["label"] = "renamed";
  const fs::path other = program.results() / "b" / "1" / "run.json";
  fs::create_directories(other.parent_path());
  std::ofstream(other) << record_text(records[4]);
  const fs::path file = program.folder() / "both.jsonl";
  const auto ended = program.run({"export", program.results(), "--output", file});
  EXPECT_EQ(ended.status.code, 2);
  EXPECT_THAT(ended.errors,
              AllOf(HasSubstr(other.string()), HasSubstr("export them to separate files"),
                    HasSubstr("is another record of run " + records[4].at("run_id").get<std::string>())));
  EXPECT_FALSE(fs::exists(file));
}

TEST(ExportCommand, RefusesWrongInputBeforeItWrites) {
  const Program program;
  const std::string folder = program.folder();
  const auto refused = [&](const std::string& results, const std::string& output,
                           const std::string& message) {
    const auto ended = program.run({"export", results, "--output", output});
    EXPECT_EQ(ended.status.code, 2) << output;
    EXPECT_THAT(ended.errors, HasSubstr(message));
  };
  refused(quickstart_records(), folder + "/records.json", "must end in .jsonl");
  refused(quickstart_records(), folder + "/no/records.jsonl", "does not exist; create it first");
  fs::create_symlink("elsewhere", folder + "/link.jsonl");
  refused(quickstart_records(), folder + "/link.jsonl", "is not a plain file");
  refused(folder + "/missing", folder + "/out.jsonl", "is neither a folder of results nor a file");
  refused(folder, folder + "/out.jsonl", "has no records");
  EXPECT_EQ(program.run({"export", quickstart_records()}).status.code, 2);
  EXPECT_FALSE(fs::exists(folder + "/out.jsonl"));
}

void export_to_a_full_disk() {
  const Program program;
  fs::create_directory(program.results());
  system_call("mount a small disk", ::mount("tmpfs", program.results().c_str(), "tmpfs", 0, "size=16k"));
  const fs::path file = program.results() / "records.jsonl";
  std::ofstream(file) << "the earlier export\n";
  const auto ended = program.run({"export", quickstart_records(), "--output", file});
  EXPECT_EQ(ended.status.code, 1);
  EXPECT_THAT(ended.errors, AllOf(HasSubstr(program.results()), HasSubstr("No space left on device")));
  EXPECT_EQ(read_file(file), "the earlier export\n");
  EXPECT_THAT(program.written(), testing::ElementsAre("records.jsonl")) << "no temporary file is left";
  system_call("unmount", ::umount(program.results().c_str()));
}

TEST(ExportCommand, AFullDiskIsNamedAndTheEarlierFileStays) {
  with_private_mounts(export_to_a_full_disk);
}

}  // namespace
}  // namespace thinpipe
