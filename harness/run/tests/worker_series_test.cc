// SPDX-License-Identifier: Apache-2.0
#include "harness/run/worker_series.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"

namespace thinpipe {
namespace {

TEST(WorkerSeries, HasALinePerWorkerAndIterationInTheOrderOfTheirReports) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "workers.jsonl";
  const WorkerSeries series(file, 1000);
  series.add(1, {.iterations = {{.iteration = 1,
                                 .monotonic_s = 1000.25,
                                 .iteration_time_s = 0.2,
                                 .compute_s = 0.1,
                                 .exposed_exchange_s = 0.0123456789},
                                {.iteration = 2, .monotonic_s = 1000.5, .iteration_time_s = 0.25}}});
  series.add(0, {});
  series.add(0, {.iterations = {{.iteration = 1, .monotonic_s = 999.5, .iteration_time_s = 0.125}}});
  EXPECT_EQ(
      read_file(file),
      "{\"at_s\":0.25,\"compute_s\":0.1,\"exposed_exchange_s\":0.012346,\"iteration\":1,"
      "\"iteration_time_s\":0.2,\"rank\":1}\n"
      "{\"at_s\":0.5,\"compute_s\":null,\"exposed_exchange_s\":null,\"iteration\":2,\"iteration_time_s\":0.25,"
      "\"rank\":1}\n"
      "{\"at_s\":-0.5,\"compute_s\":null,\"exposed_exchange_s\":null,\"iteration\":1,\"iteration_time_s\":0.125,"
      "\"rank\":0}\n");
}

TEST(WorkerSeries, OnAFullDiskNamesTheFile) {
  const WorkerSeries series("/dev/full", 0);
  try {
    series.add(0, {.iterations = {{.iteration = 1}}});
    ADD_FAILURE() << "was written to a full disk";
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("/dev/full"));
  }
}

}  // namespace
}  // namespace thinpipe
