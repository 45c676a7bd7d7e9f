#include "harness/records/record.hh"

#include <atomic>
#include <csignal>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/support/file_descriptor.hh"
#include "common/support/tests/paths.hh"
#include "common/support/tests/temporary_folder.hh"
#include "harness/plan/run_id.hh"
#include "harness/plan/shipped_files.hh"
#include "harness/records/record_check.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

Json whole_record(const std::string& label) {
  return {{"schema_version", 1},
          {"run_id", "1"},
          {"status", "completed"},
          {"experiment", "e"},
          {"mode", "live"},
          {"label", label},
          {"labels", Json::object()},
          {"error", nullptr},
          {"config", Json::object()},
          {"plan", Json::object()},
          {"provenance", Json::object()},
          {"curve", Json::array()},
          {"targets", Json::array()},
          {"traffic",
           {{"payload_bytes_per_worker", 0},
            {"sent_bytes_per_worker", 0},
            {"wire_bytes", Json::object()},
            {"utilisation", Json::object()}}},
          {"train_time_s", 1.5},
          {"iteration_time_s", nullptr},
          {"fidelity", nullptr}};
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

// A writer is killed at random moments while a reader reads.
TEST(WriteAtomically, AWriterKilledAtAnyMomentLeavesAWholeRecord) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "run.json";
  const std::vector<std::string> texts = {record_text(whole_record(std::string(100'000, 'a'))),
                                          record_text(whole_record(std::string(300'000, 'b')))};
  write_atomically(path, texts[0]);
  std::mt19937 random(1);
  std::uniform_int_distribution<int> pause_us(0, 20'000);
  for (int kill = 0; kill < 100; ++kill) {
    const pid_t writer = ::fork();
    if (writer == 0) {
      for (std::size_t i = 0;; ++i) write_atomically(path, texts[i % 2]);
    }
    ASSERT_GT(writer, 0);
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(pause_us(random));
    do {
      const std::string seen = read_file(path);
      ASSERT_TRUE(seen == texts[0] || seen == texts[1]) << seen.size() << " bytes";
    } while (std::chrono::steady_clock::now() < end);
    ::kill(writer, SIGKILL);
    ASSERT_EQ(::waitpid(writer, nullptr, 0), writer);
    ASSERT_TRUE(find_record(path)) << "after kill " << kill;
  }
  const auto files = fs::directory_iterator(folder.path());
  EXPECT_GT(std::distance(begin(files), end(files)), 1) << "no kill interrupted a write";
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
  write(path, R"({"schema_version": 1, "status": "completed"})");
  EXPECT_FALSE(find_record(path));
  const Json whole = whole_record("x");
  write(path, whole.dump());
  EXPECT_EQ(find_record(path)->at("status"), "completed");
  for (const auto& [member, value] : whole.items()) {
    Json lacking = whole;
    lacking.erase(member);
    write(path, lacking.dump());
    EXPECT_FALSE(find_record(path)) << "without " << member;
    lacking[member] = true;
    write(path, lacking.dump());
    EXPECT_FALSE(find_record(path)) << member << " of another type";
  }
}

TEST(FindRecord, NestingThatNothingOfOursHasIsLeftOut) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "run.json";
  write(path, std::string(1'000'000, '['));
  EXPECT_FALSE(find_record(path));
  std::string text = whole_record("x").dump();
  text.replace(text.find("\"plan\":{}"), 9,
               "\"plan\":{\"x\":" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}");
  write(path, text);
  EXPECT_LT(find_record(path)->dump().size(), 2000);
}

TEST(FindRecord, TheReferenceResultsAreRecordsAndKeepTheirNames) {
  const std::vector<Json> records = load_records(source_path("results/reference"));
  // Replays, simulations and external trainers do not report a hash of the data, but other runs with the same
  // data do.
  std::map<Json, Json> dataset_hashes;  // by the config's dataset
  for (const Json& record : records) {
    const Json& provenance = record.at("provenance");
    if (const auto hash = provenance.find("dataset_hash"); hash != provenance.end()) {
      dataset_hashes[record.at("config").at("dataset")] = *hash;
    }
  }
  for (const Json& record : records) {
    const Json& config = record.at("config");
    const Json& dataset = config.at("dataset");
    Json content = Json::object();
    if (dataset.contains("directory")) content["/dataset/directory"] = dataset_hashes.at(dataset);
    if (const auto profile = config.find("compute_profile");
        profile != config.end() && *profile != "measured") {
      const auto [device, pointer] = profile->is_object()
                                         ? std::pair(profile->at("device"), "/compute_profile/device")
                                         : std::pair(*profile, "/compute_profile");
      content[pointer] = content_hash_of_file(shipped_compute_profiles().find(device, {}, {}));
    }
    EXPECT_EQ(run_id(config, content), record.at("run_id"));
  }
}

TEST(FindRecord, ANewerSchemaVersionIsRefusedByName) {
  const TemporaryFolder folder;
  write(folder.path() / "run.json", R"({"schema_version": 2})");
  try {
    find_record(folder.path() / "run.json");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("run.json has schema_version 2, but this program reads versions up to 1"));
  }
}

TEST(FindRecords, OneAndTwoLevelsDown) {
  const TemporaryFolder folder;
  const std::vector<fs::path> files = {folder.path() / "2" / "run.json",
                                       folder.path() / "b" / "1" / "run.json"};
  for (const fs::path& file : files) write(file, "{}");
  write(folder.path() / "2" / "worker-0.log", "noise");
  EXPECT_THAT(find_records(folder.path()), testing::UnorderedElementsAreArray(files));
  EXPECT_THROW(find_records(folder.path() / "missing"), InputError);
}

// One run whose curve lacks an accuracy must not abort a report over thousands of runs.
TEST(FindFault, NamesThePlaceAndTheRule) {
  Json record = whole_record("a");
  EXPECT_EQ(find_fault(record), std::nullopt);
  const Json point = {{"iteration", 1}, {"train_time_s", 0.5}, {"test_accuracy", 0.25}, {"test_loss", 1.5}};
  record["curve"] = {point, point};
  EXPECT_EQ(find_fault(record), std::nullopt);
  record["curve"][1].erase("test_accuracy");
  EXPECT_EQ(find_fault(record), "/curve/1/test_accuracy is missing; it must be a number from 0 to 1");
  record["curve"][1]["test_accuracy"] = 25;
  EXPECT_EQ(find_fault(record), "/curve/1/test_accuracy must be a number from 0 to 1");
  record["curve"] = {7};
  EXPECT_EQ(find_fault(record), "/curve/0 must be an object");
  record["curve"] = Json::array();
  record["error"] = {{"kind", "crash"}};
  EXPECT_EQ(find_fault(record), "/error/message is missing; it must be a string");
}

}  // namespace
}  // namespace thinpipe
