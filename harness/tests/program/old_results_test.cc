// SPDX-License-Identifier: Apache-2.0
// `thinpipe run` and `thinpipe export` on results of a version whose names have changed since.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/file_descriptor.hh"
#include "harness/records/record.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

using testing::HasSubstr;

TEST(OldResults, ARunThatEndedBeforeTheNamesChangedIsNotRepeated) {
  const Program program;
  const auto arguments = program.run_arguments(program.experiment(loopback));
  ASSERT_EQ(program.run(arguments).status.code, 0);
  const Json current = program.record("base");
  const auto folder = program.results() / "test" / current.at("run_id").get<std::string>();
  Json old = current;
  old["schema_version"] = 1;
  old["starting_weights"] = old["initial_weights"];
  old.erase("initial_weights");
  old["iteration_time_s"]["processor"] = old["iteration_time_s"]["cpu"];
  old["iteration_time_s"].erase("cpu");
  write_atomically(folder / "run.json", record_text(old));
  const auto again = program.run(arguments);
  EXPECT_EQ(again.status.code, 0);
  EXPECT_THAT(again.errors, HasSubstr("base: completed earlier"));
  EXPECT_EQ(parse_json_file(folder / "run.json"), old) << "reading a record does not change it";

  const auto exported = program.folder() / "exported.jsonl";
  ASSERT_EQ(program.run({"export", program.results(), "--output", exported}).status.code, 0);
  EXPECT_EQ(Json::parse(read_file(exported)), current) << "an export has the current names";
}

}  // namespace
}  // namespace thinpipe
