// SPDX-License-Identifier: Apache-2.0
// Reports of folders: what is read, and what is left out.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"
#include "harness/reports/tests/report_record.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Json started(const std::string& run_id, const std::string& time) {
  Json record = report_record("dense", 0, 80);
  record["run_id"] = run_id;
  record["provenance"]["started_at"] = time;
  return record;
}

void write(const fs::path& folder, const Json& record) {
  fs::create_directories(folder);
  std::ofstream(folder / "run.json") << record.dump();
}

struct Read {
  std::vector<std::string> run_ids;
  std::vector<std::string> warnings;
};

Read read(const fs::path& folder) {
  Read out;
  const Report report =
      report_of(folder, {}, [&out](const std::string& warning) { out.warnings.push_back(warning); });
  for (const Json& row : report.runs) out.run_ids.push_back(row.at("run_id"));
  return out;
}

TEST(ReportOf, ShowsRunsInTheOrderOfTheirStart) {
  const TemporaryFolder folder;
  write(folder.path() / "b" / "1", started(std::string(16, '1'), "2025-01-02"));
  write(folder.path() / "2", started(std::string(16, '2'), "2025-01-01"));
  EXPECT_THAT(read(folder.path()).run_ids, ElementsAre(std::string(16, '2'), std::string(16, '1')));
}

TEST(ReportOf, LeavesOutARecordWithoutSubstanceByItsNameAndShowsTheOthers) {
  const TemporaryFolder folder;
  const std::string good(16, '0');
  write(folder.path() / "good", started(good, "2025-01-01"));
  Json lacking = started(std::string(16, '1'), "2025-01-02");
  lacking["curve"][1].erase("test_accuracy");
  write(folder.path() / "lacking", lacking);
  Json wrong = started(std::string(16, '2'), "2025-01-03");
  wrong["curve"][0]["test_loss"] = "low";
  write(folder.path() / "wrong", wrong);
  Json odd = started(std::string(16, '3'), "2025-01-04");
  odd["network_events"] = {1};
  write(folder.path() / "odd", odd);
  const Read got = read(folder.path());
  EXPECT_THAT(got.run_ids, ElementsAre(good));
  EXPECT_THAT(got.warnings,
              testing::UnorderedElementsAre(
                  HasSubstr("lacking/run.json is left out: /curve/1/test_accuracy is missing"),
                  HasSubstr("wrong/run.json is left out: /curve/0/test_loss must be a number or null"),
                  HasSubstr("odd/run.json is left out: /network_events/0 must be an object")));
}

TEST(ReportOf, AFolderWithoutRecordsIsAnInputError) {
  const TemporaryFolder folder;
  EXPECT_THROW(read(folder.path()), InputError);
  EXPECT_THROW(read(folder.path() / "missing"), InputError);
}

}  // namespace
}  // namespace thinpipe
