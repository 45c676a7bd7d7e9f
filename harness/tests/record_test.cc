#include "harness/record.hh"

#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/support/file_descriptor.hh"
#include "harness/tests/temporary_folder.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

TEST(WriteAtomically, AReaderSeesTheOldOrTheNewWhole) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "run.json";
  const std::string old_text(1 << 18, 'o');
  const std::string new_text(1 << 19, 'n');
  write_atomically(path, old_text);
  std::atomic<bool> done = false;
  std::jthread writer([&] {
    for (int i = 0; i < 20; ++i) write_atomically(path, i % 2 == 0 ? new_text : old_text);
    done = true;
  });
  while (!done) {
    const std::string seen = read_file(path);
    ASSERT_TRUE(seen == old_text || seen == new_text) << seen.size() << " bytes";
  }
}

// The writer is killed after ever longer pauses, so in different moments of its work.
TEST(WriteAtomically, AKilledWriterLeavesAWholeFile) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "run.json";
  const std::string old_text(1 << 18, 'o');
  const std::string new_text(1 << 19, 'n');
  for (int attempt = 0; attempt < 50; ++attempt) {
    write_atomically(path, old_text);
    const pid_t writer = ::fork();
    if (writer == 0) {
      for (;;) write_atomically(path, new_text);
    }
    ASSERT_GT(writer, 0);
    std::this_thread::sleep_for(std::chrono::microseconds(100 * attempt));
    ::kill(writer, SIGKILL);
    ASSERT_EQ(::waitpid(writer, nullptr, 0), writer);
    const std::string seen = read_file(path);
    ASSERT_TRUE(seen == old_text || seen == new_text) << seen.size() << " bytes";
  }
}

TEST(WriteAtomically, AFolderThatIsMissingIsNamed) {
  try {
    write_atomically("/no/such/folder/run.json", "x");
    FAIL() << "written";
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/no/such/folder"));
  }
}

TEST(RecordText, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(Json::parse(record_text({{"log", "a\xff"}})).at("log"), "a\xEF\xBF\xBD");
}

TEST(FindRecord, TruncatedAndForeignFilesAreNoRecords) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "run.json";
  EXPECT_FALSE(find_record(path));
  write(path, R"({"schema_version": 1, "status": "compl)");
  EXPECT_FALSE(find_record(path));
  write(path, R"(["something else"])");
  EXPECT_FALSE(find_record(path));
  EXPECT_THROW(load_record(path), Error);
  write(path, R"({"schema_version": 1, "status": "completed"})");
  EXPECT_EQ(find_record(path)->at("status"), "completed");
}

TEST(FindRecord, ANewerSchemaVersionIsRefusedByName) {
  const TemporaryFolder folder;
  write(folder.path() / "run.json", R"({"schema_version": 2})");
  try {
    find_record(folder.path() / "run.json");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("run.json has schema_version 2, but this program knows versions up to 1"));
  }
}

TEST(LoadRecords, FindsThemOneAndTwoLevelsDownInTheOrderOfTheirStart) {
  const TemporaryFolder folder;
  write(folder.path() / "b" / "1" / "run.json",
        R"({"schema_version": 1, "run_id": "1", "provenance": {"started_at": "2025-01-02"}})");
  write(folder.path() / "2" / "run.json",
        R"({"schema_version": 1, "run_id": "2", "provenance": {"started_at": "2025-01-01"}})");
  write(folder.path() / "2" / "worker-0.log", "noise");
  const auto records = load_records(folder.path());
  ASSERT_EQ(records.size(), 2);
  EXPECT_EQ(records[0].at("run_id"), "2");
  EXPECT_EQ(records[1].at("run_id"), "1");
}

TEST(LoadRecords, AFolderWithoutRecordsIsAnInputError) {
  const TemporaryFolder folder;
  EXPECT_THROW(load_records(folder.path()), InputError);
  EXPECT_THROW(load_records(folder.path() / "missing"), InputError);
}

}  // namespace
}  // namespace thinpipe
