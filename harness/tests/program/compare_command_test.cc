// SPDX-License-Identifier: Apache-2.0
// thinpipe compare: exit statuses, formats and refusals.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/file_descriptor.hh"
#include "harness/records/record.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

// Writes the quickstart's records with a changed payload.
fs::path with_more_payload(const fs::path& folder) {
  const fs::path file = folder / "more.jsonl";
  std::ofstream out(file);
  for (Json& record : load_records(quickstart_records())) {
    record["traffic"]["payload_bytes_per_worker"] =
        2 * record["traffic"]["payload_bytes_per_worker"].get<std::int64_t>();
    out << record_line(record);
  }
  return file;
}

TEST(CompareCommand, ItsExitStatusIsTheVerdict) {
  const Program program;
  const std::string records = quickstart_records();
  const auto same = program.run({"compare", records, records, "--metric", "payload_bytes"});
  EXPECT_EQ(same.status.code, 0) << same.errors;
  EXPECT_THAT(same.output, HasSubstr("Over all: reproduced (6 of 6 points reproduced"));
  const auto differs =
      program.run({"compare", records, with_more_payload(program.folder()), "--metric", "payload_bytes"});
  EXPECT_EQ(differs.status.code, 1);
  EXPECT_THAT(differs.output, HasSubstr("Over all: differs"));
  const auto few = program.run({"compare", records, records, "--metric", "time_to_target"});
  EXPECT_EQ(few.status.code, 2) << "one seed has no interval";
  EXPECT_THAT(few.output, HasSubstr("Over all: cannot be judged"));
}

TEST(CompareCommand, PrintsMarkdownAndJson) {
  const Program program;
  const std::string records = quickstart_records();
  EXPECT_THAT(program.run({"compare", records, records, "--markdown"}).output,
              StartsWith("|  | results | runs |"));
  const auto json =
      program.run({"compare", records, records, "--json", "--metric", "weights", "--within", "1%"});
  EXPECT_EQ(json.status.code, 0);
  EXPECT_EQ(Json::parse(json.output).at("points").at(0).at("quantities").at(0).at("tolerance"), 0.01);
  EXPECT_EQ(program.run({"compare", records, records, "--json", "--markdown"}).status.code, 2);
}

TEST(CompareCommand, RefusesWrongInputNamingTheRule) {
  const Program program;
  const std::string records = quickstart_records();
  const auto errors_of = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"compare", records};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto ended = program.run(arguments);
    EXPECT_EQ(ended.status.code, 2);
    EXPECT_EQ(ended.output, "");
    return ended.errors;
  };
  EXPECT_THAT(errors_of({"missing"}), HasSubstr("missing: is neither a folder of results nor a file"));
  EXPECT_THAT(errors_of({records, "--within", "lots"}),
              HasSubstr("--within lots: must be a share from 0 to 100 %"));
  EXPECT_THAT(errors_of({records, "--within", "acuracy=1%"}), HasSubstr("did you mean \"accuracy\"?"));
  EXPECT_THAT(errors_of({records, "--metric", "speed"}), HasSubstr("--metric speed: unknown quantity"));
  EXPECT_THAT(errors_of({records, "--target", "good"}), HasSubstr("must be an accuracy"));
}

}  // namespace
}  // namespace thinpipe
