// SPDX-License-Identifier: Apache-2.0
// Full disks, foreign files and workers that report nonsense: each gives one clear message and loses nothing.
#include <csignal>
#include <fstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

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
using testing::Not;

// Fills the disk except for `left_bytes`.
void fill(const fs::path& folder, std::uintmax_t left_bytes) {
  const FileDescriptor file = FileDescriptor::open(folder / "filler", O_WRONLY | O_CREAT);
  const auto taken_bytes = static_cast<off_t>(fs::space(folder).available - left_bytes);
  system_call("fill the disk", ::posix_fallocate(file.get(), 0, taken_bytes) == 0 ? 0 : -1);
}

void use_a_disk_of_256_kb() {
  const Program program;
  fs::create_directory(program.results());
  system_call("mount a small disk", ::mount("tmpfs", program.results().c_str(), "tmpfs", 0, "size=256k"));
  const auto ended = program.run(program.run_arguments(program.experiment(loopback)));
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  const Json first = program.record("base");
  int refusals = 0;
  for (std::int64_t left_kb = 0; left_kb <= 32; left_kb += 4) {
    fill(program.results(), static_cast<std::uintmax_t>(left_kb) << 10);
    const auto arguments =
        program.run_arguments(program.experiment({{"topology", "loopback"}, {"seed", 100 + left_kb}}));
    const auto full = program.run(arguments);
    fs::remove(program.results() / "filler");
    if (full.status.code != 0) {
      ++refusals;
      EXPECT_EQ(full.status.code, 1);
      EXPECT_THAT(full.errors, AllOf(HasSubstr(program.results()), HasSubstr("No space left on device")))
          << left_kb << " kB were left";
    }
    const auto again = program.run(arguments);
    EXPECT_EQ(again.status.code, 0) << left_kb << " kB were left: " << again.errors;
    const std::string id = first.at("run_id");
    EXPECT_EQ(parse_json_file(program.results() / "test" / id / "run.json"), first);
    for (const auto& entry : fs::directory_iterator(program.results() / "test")) {
      if (entry.path().filename() != id) fs::remove_all(entry.path());
    }
  }
  EXPECT_GT(refusals, 0);
  system_call("forbid writing",
              ::mount(nullptr, program.results().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr));
  EXPECT_EQ(program.run(program.run_arguments(program.experiment(loopback))).status.code, 0)
      << "a complete record is not written again";
  const auto forbidden =
      program.run(program.run_arguments(program.experiment({{"topology", "loopback"}, {"seed", 1000}})));
  EXPECT_EQ(forbidden.status.code, 1);
  EXPECT_THAT(forbidden.errors, AllOf(HasSubstr(program.results()), HasSubstr("Read-only file system")));
  system_call("unmount", ::umount(program.results().c_str()));
}

TEST(HostileSurroundings, AFullOrReadOnlyDiskIsNamedAndLosesNothing) {
  with_private_mounts(use_a_disk_of_256_kb);
}

TEST(HostileSurroundings, AFullDiskThatAWorkerMeetsIsNoFailureOfTheRun) {
  const Program program;
  const auto arguments = program.run_arguments(
      program.experiment({{"topology", "loopback"}, {"fault", {{"kind", "full_disk"}, {"rank", 1}}}}));
  for (int time = 0; time < 2; ++time) {
    const auto ended = program.run(arguments);
    EXPECT_EQ(ended.status.code, 1);
    EXPECT_THAT(ended.errors, AllOf(HasSubstr("starting"), HasSubstr("write a.pt: No space left on device")));
    EXPECT_THAT(program.written(), testing::Not(testing::Contains("run.json")));
  }
}

TEST(HostileSurroundings, AResultsFolderThatCannotBeWrittenIsNamed) {
  const Program program;
  std::ofstream(program.results()) << "a file where the folder should be";
  const auto ended = program.run(program.run_arguments(program.experiment(loopback)));
  EXPECT_EQ(ended.status.code, 1);
  EXPECT_THAT(ended.errors, AllOf(HasSubstr(program.results()), HasSubstr("Not a directory")));
}

TEST(HostileSurroundings, ForeignAndBrokenFilesAmongResultsAreNoObstacle) {
  const Program program;
  const auto arguments = program.run_arguments(program.experiment(loopback, {{"seed", {1, 2, 3}}}));
  ASSERT_EQ(program.run(arguments).status.code, 0);
  const fs::path folder = program.results() / "test";
  const auto path_of = [&](const char* label) {
    return folder / program.record(label).at("run_id").get<std::string>() / "run.json";
  };
  const fs::path cut_short = path_of("1");
  const fs::path foreign = path_of("2");
  fs::resize_file(cut_short, 100);
  std::ofstream(foreign) << R"({"schema_version": 1, "status": "completed"})";
  std::ofstream(folder / "notes.txt") << "mine";
  for (const char* const other : {"other", "directory", "newer"}) fs::create_directories(folder / other);
  std::ofstream(folder / "other" / "run.json") << std::string("\0\xff{[", 4);
  fs::create_directory(folder / "directory" / "run.json");
  std::ofstream(folder / "newer" / "run.json") << R"({"schema_version": 99})";

  const auto report = program.run({"report", program.results()});
  EXPECT_EQ(report.status.code, 0) << "whole records are reported";
  for (const fs::path& named : {cut_short, foreign, folder / "other" / "run.json",
                                folder / "directory" / "run.json", folder / "newer" / "run.json"}) {
    EXPECT_THAT(report.errors, HasSubstr(named.string() + " is left out: "));
  }
  EXPECT_THAT(report.errors, HasSubstr("schema_version 99"));
  const auto again = program.run(arguments);
  EXPECT_EQ(again.status.code, 0) << again.errors;
  EXPECT_THAT(again.errors, AllOf(HasSubstr("[1/3] 1: starting"), HasSubstr("[2/3] 2: starting"),
                                  HasSubstr("[3/3] 3: completed earlier")));
  EXPECT_TRUE(fs::exists(folder / "notes.txt"));
}

// Record and message stay small and printable, whatever the worker reports.
TEST(HostileSurroundings, AFloodWithoutEndOfLineIsBounded) {
  const Program program;
  const auto ended = program.run(program.run_arguments(program.experiment(
      {{"topology", "loopback"}, {"fault", {{"kind", "flood"}, {"rank", 1}, {"iteration", 2}}}})));
  EXPECT_EQ(ended.status.code, 1);
  const Json error = program.record("base").at("error");
  EXPECT_EQ(error.at("kind"), "protocol");
  EXPECT_EQ(error.at("rank"), 1);
  EXPECT_THAT(error.at("message").get<std::string>(),
              HasSubstr("reported a line that is not an event: xxxx"));
  EXPECT_LT(error.dump().size(), 10000);
#ifndef __SANITIZE_ADDRESS__  // which keeps freed memory
  rusage usage{};
  ASSERT_EQ(::getrusage(RUSAGE_CHILDREN, &usage), 0);
  EXPECT_LT(usage.ru_maxrss, 80 << 10) << "KiB, the maximum over all processes that this one has waited for";
#endif
}

TEST(HostileSurroundings, BytesThatAreNoTextAreShownAsWhatTheyAre) {
  const Program program;
  const auto ended = program.run(program.run_arguments(
      program.experiment({{"topology", "loopback"}, {"fault", {{"kind", "binary"}, {"iteration", 2}}}})));
  EXPECT_EQ(ended.status.code, 1);
  EXPECT_THAT(program.record("base").at("error").at("message").get<std::string>(),
              HasSubstr(R"(reported a line that is not an event: \x00\x1b[31m\xff\xfe{)"));
  EXPECT_THAT(ended.errors, Not(HasSubstr("\x1b[31m"))) << "the terminal is the user's";
}

TEST(HostileSurroundings, AnEventNestedWithoutEndIsAProtocolError) {
  const Program program;
  const auto ended = program.run(program.run_arguments(
      program.experiment({{"topology", "loopback"}, {"fault", {{"kind", "deep"}, {"iteration", 2}}}})));
  EXPECT_EQ(ended.status.describe(), "exit code 1");
  EXPECT_EQ(program.record("base").at("error").at("kind"), "protocol");
}

TEST(HostileSurroundings, WrongExperimentsGiveExitCodeTwoAndOneMessage) {
  std::string thousand = "0";
  for (int i = 1; i < 1000; ++i) thousand += "," + std::to_string(i);
  const std::string deep(100000, '[');
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"{\n  \"base\": {}\n  \"sweep\": {}\n}", "not valid JSON at line 3, column 9"},
      {"", "not valid JSON at line 1"},
      {std::string("\0\xff\xfe", 3), "not valid JSON at line 1"},
      {deep, "is nested more than 100 deep"},
      {R"({"base": {"topology": "loopback"}, "swep": {}})",
       "/swep: unknown key \"swep\"; did you mean \"sweep\"?"},
      {R"({"base": {"topology": 3}})", "/base/topology: must be a string, but is 3"},
      {R"({"base": {"topology": "loopback"}, "sweep": {"seed": []}})", "/sweep/seed: is empty"},
      {R"({"base": {"topology": "loopback"}, "sweep": {"a": [)" + thousand + R"(], "b": [)" + thousand +
           "]}}",
       "/sweep: has 1000000 runs, more than the limit of 100000"}};
  const Program program;
  const fs::path experiment = program.folder() / "experiment.json";
  for (const auto& [text, message] : wrong) {
    std::ofstream(experiment) << text;
    const auto ended = program.run(program.run_arguments(experiment));
    EXPECT_EQ(ended.status.describe(), "exit code 2") << message;
    EXPECT_THAT(ended.errors, AllOf(HasSubstr("thinpipe: " + experiment.string()), HasSubstr(message)));
    EXPECT_LT(ended.errors.size(), 1000) << message;
    EXPECT_FALSE(fs::exists(program.results()));
  }
}

// Runs the program in a shell, with the redirection.
Output run_in_shell(const Program& program, const std::string& arguments, const std::string& redirection) {
  const std::string command = fmt::format("THINPIPE_TRAINER={} exec {} {} {}", fake_trainer(),
                                          built_program("thinpipe"), arguments, redirection);
  return run_program({"/bin/sh", "-c", fmt::format("cd {} && {}", program.folder().string(), command)});
}

TEST(HostileSurroundings, StandardOutputThatCannotBeWrittenIsAFailure) {
  const Program program;
  const std::string experiment = program.experiment(loopback);
  ASSERT_EQ(program.run(program.run_arguments(experiment)).status.code, 0);
  for (const std::string command : {"--help", "plan --help", "doctor --help"}) {
    EXPECT_EQ(run_in_shell(program, command, "> /dev/full 2> errors").status.code, 1) << command;
    EXPECT_THAT(read_file(program.folder() / "errors"), HasSubstr("No space left on device")) << command;
  }
  for (const std::string command : {"report results/test", "report results/test --csv",
                                    "run --dry-run experiment.json", "run experiment.json"}) {
    EXPECT_EQ(run_in_shell(program, command, "> /dev/full 2> /dev/null").status.code, 1) << command;
    EXPECT_EQ(run_in_shell(program, command, ">&- 2> /dev/null").status.code, 1) << command;
  }
}

TEST(HostileSurroundings, ASweepSurvivesALogThatCannotBeWritten) {
  const Program program;
  program.experiment(loopback, {{"seed", {1, 2}}});
  EXPECT_EQ(run_in_shell(program, "run experiment.json", "> /dev/null 2> /dev/full").status.code, 0);
  EXPECT_EQ(program.record("1").at("status"), "completed");
  EXPECT_EQ(program.record("2").at("status"), "completed");
}

TEST(HostileSurroundings, AParentThatIgnoresTheEndsOfItsChildrenIsNoObstacle) {
  const Program program;
  std::vector<std::string> arguments = program.run_arguments(program.experiment(loopback));
  arguments.insert(arguments.begin(), built_program("thinpipe"));
  ChildProcess process({.arguments = arguments,
                        .environment = {{"THINPIPE_TRAINER", fake_trainer()}},
                        .before_exec = [] { std::signal(SIGCHLD, SIG_IGN); }});
  EXPECT_EQ(process.wait().describe(), "exit code 0");
  EXPECT_EQ(program.record("base").at("status"), "completed");
}

TEST(HostileSurroundings, PathsThatAreNoTextAreRefusedBeforeAnythingStarts) {
  const Program program;
  const std::string experiment = program.experiment(loopback);
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {"--set", "weights.file=caf\xe9.pt"}, {"--results", "caf\xe9"}, {"caf\xe9.json"}}) {
    std::vector<std::string> arguments = {"run", experiment};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto ended = program.run(arguments);
    EXPECT_EQ(ended.status.code, 2) << ended.errors;
    EXPECT_THAT(ended.errors, AllOf(HasSubstr("caf\\xe9"), HasSubstr("is not UTF-8")));
  }
  const fs::path folder = program.folder() / "caf\xe9";
  fs::create_directory(folder);
  fs::copy(experiment, folder / "experiment.json");
  const Output elsewhere =
      run_program({"/bin/sh", "-c",
                   fmt::format("cd {}/caf* && THINPIPE_TRAINER={} exec {} run experiment.json 2>&1",
                               program.folder().string(), fake_trainer(), built_program("thinpipe"))});
  EXPECT_EQ(elsewhere.status.code, 2) << elsewhere.text;
  EXPECT_FALSE(fs::exists(folder / "results"));
}

}  // namespace
}  // namespace thinpipe
