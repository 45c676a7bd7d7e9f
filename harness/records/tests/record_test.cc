// SPDX-License-Identifier: Apache-2.0
#include "harness/records/record.hh"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/support/atomic_file.hh"
#include "common/support/file_descriptor.hh"
#include "common/support/tests/paths.hh"
#include "common/support/tests/temporary_folder.hh"
#include "harness/experiment/bundled_files.hh"
#include "harness/plan/run_id.hh"
#include "harness/records/tests/whole_record.hh"
#include "harness/tests/program.hh"

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

// Two processes may have the same number: in two sandboxes, or on two machines.
TEST(WriteAtomically, WritersOfOneFileHaveTemporaryFilesOfTheirOwn) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "run.json";
  AtomicFile first(path);
  AtomicFile second(path);
  first.write("first");
  second.write("second");
  std::size_t temporary_files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path())) {
    const std::string name = entry.path().filename();
    EXPECT_TRUE(name.starts_with(".run.json.") && name.ends_with(".tmp")) << name;
    ++temporary_files;
  }
  EXPECT_EQ(temporary_files, 2U);
  first.commit();
  EXPECT_EQ(read_file(path), "first");
  second.commit();
  EXPECT_EQ(read_file(path), "second");
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
}

TEST(FindRecord, RefusesAFileThatLacksAMember) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "run.json";
  const Json whole = whole_record("x");
  write(path, whole.dump());
  EXPECT_EQ(find_record(path)->status, "completed");
  for (const auto& [member, value] : whole.items()) {
    Json lacking = whole;
    lacking.erase(member);
    write(path, lacking.dump());
    EXPECT_THROW(find_record(path), InputError) << "without " << member;
    lacking[member] = true;
    write(path, lacking.dump());
    EXPECT_THROW(find_record(path), InputError) << member << " of another type";
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
  EXPECT_LT(to_json(*find_record(path)).dump().size(), 2000);
}

// The contents of profiles that have changed since records were made with them.
const std::map<std::string, std::string> earlier_profiles = {
    {"a40", "fb43f592786492f3"},  // until 2026-11-30: 5 us to start an operation
};

TEST(FindRecord, TheReferenceResultsAreRecordsAndKeepTheirNames) {
  const std::vector<Json> records = load_records(source_path("results/reference"));
  // Replays, simulations and external trainers do not report a hash of the data, but other runs with the same
  // data do.
  // Records of convergence runs had paths from another folder once.
  const auto spelt_alike = [](Json dataset) {
    for (const char* source : {"directory", "path"}) {
      if (dataset.contains(source) && dataset.at(source).get<std::string>().starts_with("../"))
        dataset[source] = dataset.at(source).get<std::string>().substr(3);
    }
    return dataset;
  };
  std::map<Json, Json> dataset_hashes;  // by the config's dataset
  for (const Json& record : records) {
    const Json& provenance = record.at("provenance");
    if (const auto hash = provenance.find("dataset_hash"); hash != provenance.end()) {
      dataset_hashes[spelt_alike(record.at("config").at("dataset"))] = *hash;
    }
  }
  for (const Json& record : records) {
    const Json& config = record.at("config");
    const Json& dataset = config.at("dataset");
    Json content = Json::object();
    for (const char* source : {"directory", "path"}) {
      if (dataset.contains(source))
        content[std::string("/dataset/") + source] = dataset_hashes.at(spelt_alike(dataset));
    }
    if (const auto profile = config.find("compute_profile");
        profile != config.end() && *profile != "measured") {
      const auto [device, pointer] = profile->is_object()
                                         ? std::pair(profile->at("device"), "/compute_profile/device")
                                         : std::pair(*profile, "/compute_profile");
      content[pointer] = content_hash_of_file(bundled_compute_profiles().find(device, {}, {}));
      const auto earlier = earlier_profiles.find(device);
      if (earlier != earlier_profiles.end() && run_id(config, content) != record.at("run_id"))
        content[pointer] = earlier->second;
    }
    EXPECT_EQ(run_id(config, content), record.at("run_id"));
  }
}

TEST(FindRecord, ANewerSchemaVersionIsRefusedByName) {
  const TemporaryFolder folder;
  write(folder.path() / "run.json", R"({"schema_version": 4})");
  try {
    find_record(folder.path() / "run.json");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("run.json has schema_version 4, but this program reads versions up to 3"));
  }
}

TEST(RecordLine, IsCompactSortedAndTheSameAfterReading) {
  Json record = whole_record("x");
  record["plan"] = {{"z", 0.1}, {"a", {1, -2, 1e-300, "\xe2\x80\xa8"}}};
  const std::string line = record_line(record);
  EXPECT_EQ(std::ranges::count(line, '\n'), 1);
  EXPECT_THAT(line, testing::EndsWith("}\n"));
  EXPECT_THAT(line, HasSubstr(R"("plan":{"a":[1,-2,1e-300,)"));
  EXPECT_EQ(record_line(Json::parse(line)), line);
  EXPECT_EQ(Json::parse(record_line({{"log", "a\xff"}})).at("log"), "a\xEF\xBF\xBD");
}

std::vector<std::string> names_of(const std::vector<RecordPlace>& places) {
  std::vector<std::string> names;
  for (const RecordPlace& place : places) names.push_back(place.name());
  return names;
}

// Returns a record whose run id ends in `digit`.
Json record_of(char digit, const std::string& label = "x") {
  Json record = whole_record(label);
  std::string run_id(16, '0');
  run_id.back() = digit;
  record["run_id"] = run_id;
  return record;
}

TEST(FindRecords, OneAndTwoLevelsDownRunFoldersFirst) {
  const TemporaryFolder folder;
  const std::string path = folder.path();
  for (const std::string file : {"/b/1/run.json", "/2/run.json"}) write(path + file, "{}");
  for (const std::string file : {"/b/records.jsonl", "/records.jsonl"}) write(path + file, "{}\n\n{}");
  write(folder.path() / "2" / "worker-0.log", "noise");
  EXPECT_THAT(
      names_of(find_records(folder.path())),
      testing::ElementsAre(path + "/2/run.json", path + "/records.jsonl:1", path + "/records.jsonl:3",
                           path + "/b/1/run.json", path + "/b/records.jsonl:1", path + "/b/records.jsonl:3"));
  EXPECT_THROW(find_records(folder.path() / "missing"), InputError);
}

TEST(FindRecords, AFileOfLinesIsNamedByItsEnding) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "monday.jsonl";
  const std::vector<std::string> labels = {"one", std::string(100'000, 'a'), "three"};
  std::string text;
  for (const std::string& label : labels) text += record_line(whole_record(label));
  text.pop_back();  // the last line may lack its end
  write(file, text);
  const auto places = find_records(file);
  EXPECT_THAT(names_of(places),
              testing::ElementsAre(file.string() + ":1", file.string() + ":2", file.string() + ":3"));
  for (std::size_t i = 0; i < places.size(); ++i) EXPECT_EQ(find_record(places[i])->label, labels[i]);
  write(folder.path() / "run.json", "{}");
  EXPECT_THROW(find_records(folder.path() / "run.json"), InputError);
  EXPECT_THROW(find_records(folder.path() / "missing.jsonl"), InputError);
}

struct Counted {
  std::vector<std::string> names;
  std::vector<std::string> warnings;
};

Counted count(const fs::path& results) {
  Counted out;
  const auto places = find_records(results);
  const auto counted = read_records(
      places, [](std::size_t /*index*/, const Record& /*record*/) {},
      [&out](const std::string& warning) { out.warnings.push_back(warning); });
  for (const std::size_t i : counted)
    out.names.push_back(places[i].name().substr(results.parent_path().string().size() + 1));
  return out;
}

TEST(ReadRecords, ADamagedLineIsNamedAndHidesNoOther) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "records.jsonl";
  Json newer = record_of('c');
  newer["schema_version"] = 4;
  write(file, record_line(record_of('a')) + "{\"schema_version\": 1, \n" + record_line(newer) +
                  record_line(record_of('d')));
  const Counted got = count(file);
  EXPECT_THAT(got.names, testing::ElementsAre("records.jsonl:1", "records.jsonl:4"));
  EXPECT_THAT(got.warnings,
              testing::ElementsAre(HasSubstr("records.jsonl:2 is left out: it is not a complete "
                                             "record; export the records again"),
                                   HasSubstr("records.jsonl:3 has schema_version 4")));
}

TEST(ReadRecords, AFileThatCannotBeReadIsNamedItself) {
  const TemporaryFolder folder;
  write(folder.path() / "1" / "run.json", record_of('1').dump());
  fs::create_directory(folder.path() / "records.jsonl");
  const Counted got = count(folder.path());
  EXPECT_EQ(got.names.size(), 1);
  EXPECT_THAT(got.warnings, testing::ElementsAre(HasSubstr("/records.jsonl is left out: ")));
}

TEST(ReadRecords, EqualRecordsCountOnceAndOfOthersOfTheRunTheFirst) {
  const TemporaryFolder folder;
  const fs::path results = folder.path() / "r";
  write(results / "1" / "run.json", record_of('1').dump(2));
  write(results / "records.jsonl",
        record_line(record_of('1')) + record_line(record_of('2')) + record_line(record_of('2', "older")));
  const Counted got = count(results);
  EXPECT_THAT(got.names, testing::ElementsAre("r/1/run.json", "r/records.jsonl:2"));
  EXPECT_THAT(got.warnings,
              testing::ElementsAre(testing::AllOf(
                  HasSubstr("records.jsonl:3 is left out: "),
                  HasSubstr("records.jsonl:2 is another record of the same run, 0000000000000002"))));
}

TEST(ReadRecords, OneThatASweepRemovesMeanwhileHidesNoOther) {
  for (const std::size_t removed : {0, 1}) {
    const TemporaryFolder folder;
    write(folder.path() / "a" / "1" / "run.json", record_of('1', "a").dump());
    write(folder.path() / "b" / "1" / "run.json", record_of('1', "b").dump());
    write(folder.path() / "b" / "2" / "run.json", record_of('2').dump());
    const auto places = find_records(folder.path());
    std::vector<std::string> warnings;
    const auto counted = read_records(
        places,
        [&](std::size_t i, const Record& /*record*/) {
          if (i == removed) fs::remove(places[i].file);
        },
        [&warnings](const std::string& warning) { warnings.push_back(warning); });
    EXPECT_THAT(counted, testing::ElementsAre(0, 2));
    EXPECT_THAT(warnings, testing::ElementsAre(
                              testing::AllOf(HasSubstr("b/1/run.json is left out: it cannot be compared"),
                                             HasSubstr("No such file"))));
  }
}

TEST(ReadRecords, ARunOfOneExperimentInTwoFoldersCountsTwiceWithAWarning) {
  const TemporaryFolder folder;
  write(folder.path() / "a" / "records.jsonl", record_line(record_of('1', "a")));
  write(folder.path() / "b" / "1" / "run.json", record_of('1', "b").dump());
  const Counted got = count(folder.path());
  EXPECT_EQ(got.names.size(), 2);
  EXPECT_THAT(got.warnings,
              testing::ElementsAre(testing::AllOf(
                  HasSubstr("a/records.jsonl:1 and "),
                  HasSubstr("b/1/run.json are different records of the same run, 0000000000000001; both"))));
}

TEST(ReadRecords, ARunOfTwoExperimentsCountsInEach) {
  const TemporaryFolder folder;
  write(folder.path() / "a" / "records.jsonl", record_line(record_of('1', "a")));
  Json other = record_of('1', "b");
  other["experiment"] = "another";
  write(folder.path() / "b" / "1" / "run.json", other.dump());
  const Counted got = count(folder.path());
  EXPECT_EQ(got.names.size(), 2);
  EXPECT_THAT(got.warnings, testing::IsEmpty());
}

}  // namespace
}  // namespace thinpipe
