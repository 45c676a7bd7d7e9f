// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/tensorboard.hh"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/file_descriptor.hh"
#include "common/support/tests/temporary_folder.hh"
#include "harness/reports/event_file.hh"
#include "harness/reports/tests/report_record.hh"

namespace thinpipe {
namespace {

using testing::ElementsAre;

std::vector<std::filesystem::path> write_curves(const std::vector<Json>& records,
                                                const std::filesystem::path& folder) {
  return write_tensorboard(make_report(records, {.curve = true}), folder);
}

// The files, by their folders below the export's.
std::vector<std::string> exported(const std::vector<Json>& records, const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& file : write_curves(records, folder)) {
    EXPECT_TRUE(std::filesystem::is_regular_file(file)) << file;
    names.push_back(file.parent_path().lexically_relative(folder));
  }
  return names;
}

Json labelled(const std::string& label, const std::string& run_id) {
  Json record = report_record("dense", 0, 80);
  record["label"] = label;
  record["run_id"] = run_id;
  return record;
}

TEST(Tensorboard, WritesEachEvaluationByIterationAtItsTrainTime) {
  const TemporaryFolder folder;
  Json record = report_record("dense", 0, 80);
  record["curve"][2]["test_loss"] = nullptr;  // it was not finite
  const auto files = write_curves({record}, folder.path());
  ASSERT_EQ(files.size(), 1);
  EXPECT_EQ(files[0].filename(), "events.out.tfevents.thinpipe");
  const double start_s = 1767323045.5;  // date -d 2026-01-02T03:04:05.5Z +%s.%N
  EventFile expected(start_s);
  expected.add(start_s, 0, {{"test_accuracy", 0.1}, {"test_loss", 0.9}});
  expected.add(start_s + 80, 5, {{"test_accuracy", 0.8}, {"test_loss", 1 - 0.8}});
  expected.add(start_s + 100, 9, {{"test_accuracy", 0.79}});
  EXPECT_EQ(read_file(files[0]), expected.bytes());
}

TEST(Tensorboard, FoldersHaveSafeNamesOfTheirOwn) {
  const TemporaryFolder folder;
  EXPECT_THAT(
      exported({labelled("topk 0.1, 1 Gbit/s", "a"), labelled("topk 0.1; 1 Gbit/s", "b"), labelled("..", "c"),
                labelled("", "d"), labelled("../../x", "e"), labelled(std::string(400, 'y'), "f")},
               folder.path()),
      ElementsAre("topk_0.1__1_Gbit_s", "topk_0.1__1_Gbit_s-b", "_..", "_", "_.._.._x",
                  std::string(150, 'y')));
}

TEST(Tensorboard, SeveralExperimentsHaveFoldersOfTheirOwn) {
  const TemporaryFolder folder;
  Json other = labelled("dense", "b");
  other["experiment"] = "f";
  EXPECT_THAT(exported({labelled("dense", "a"), other}, folder.path()), ElementsAre("e/dense", "f/dense"));
}

TEST(Tensorboard, AnExportReplacesTheOneBefore) {
  const TemporaryFolder folder;
  write_curves({labelled("dense", "a")}, folder.path());
  Json later = labelled("dense", "b");
  later["provenance"]["started_at"] = "2026-01-03T00:00:00.000Z";
  const auto files = write_curves({later}, folder.path());
  const auto in_folder = std::filesystem::directory_iterator(files[0].parent_path());
  EXPECT_EQ(std::distance(begin(in_folder), end(in_folder)), 1) << "two files of a run would be mixed";
}

TEST(Tensorboard, ARecordWithoutAStartBeginsAtZeroAndAWrongOneIsNamed) {
  const TemporaryFolder folder;
  Json record = labelled("dense", "a");
  record["provenance"].erase("started_at");
  EXPECT_NO_THROW(write_curves({record}, folder.path()));
  record["provenance"]["started_at"] = "yesterday";
  EXPECT_THROW(write_curves({record}, folder.path()), Error);
}

}  // namespace
}  // namespace thinpipe
