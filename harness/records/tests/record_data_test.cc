// SPDX-License-Identifier: Apache-2.0
#include "harness/records/record_data.hh"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness/records/tests/whole_record.hh"

namespace thinpipe {
namespace {

// Returns the place and the rule by which the record is refused.
std::string parser_refusal(const Json& record) {
  try {
    parse_record(record);
  } catch (const InputError& error) {
    return fmt::format("{} {}", error.place().pointer, error.message());
  }
  return "accepted";
}

// One run whose curve lacks an accuracy must not abort a report over thousands of runs.
TEST(ParseRecord, NamesThePlaceAndTheRule) {
  Json record = whole_record("a");
  EXPECT_EQ(parser_refusal(record), "accepted");
  const Json point = {{"iteration", 1},    {"epoch", 0.5},     {"train_time_s", 0.5},
                      {"train_loss", 2.5}, {"test_loss", 1.5}, {"test_accuracy", 0.25}};
  record["curve"] = {point, point};
  EXPECT_EQ(parser_refusal(record), "accepted");
  record["curve"][1].erase("test_accuracy");
  EXPECT_EQ(parser_refusal(record),
            "/curve/1/test_accuracy is missing; it must be a number from 0 to 1 or null");
  record["curve"] = {7};
  EXPECT_EQ(parser_refusal(record), "/curve/0 must be an object");
  record["curve"] = Json::array();
  record["error"] = {{"kind", "crash"}};
  EXPECT_EQ(parser_refusal(record), "/error/message is missing; it must be a string");
  record["error"] = nullptr;
  record["status"] = "failed";
  EXPECT_EQ(parser_refusal(record), "/error must be an object, because the run failed");
}

// Replaces the value at the place.
std::string parser_refusal(const char* place, const Json& value) {
  Json record = whole_record("a");
  record["curve"] = Json::parse(R"([{"iteration": 1, "epoch": 0.5, "train_time_s": 0.5, "train_loss": 2.5,
                                     "test_loss": 1.5, "test_accuracy": 0.25}])");
  record["targets"] = Json::parse(R"([{"accuracy": 0.5, "reached": false, "iteration": null,
                                       "train_time_s": null}])");
  record[Json::json_pointer(place)] = value;
  return parser_refusal(record);
}

TEST(ParseRecord, HasARuleForEachKindOfMember) {
  EXPECT_EQ(parser_refusal("/schema_version", 1), "/schema_version must be 3");
  EXPECT_EQ(parser_refusal("/run_id", "1"), "/run_id must be a run id, which has 16 digits of 0-9 and a-f");
  EXPECT_EQ(parser_refusal("/status", "done"), "/status must be completed, failed or interrupted");
  EXPECT_EQ(parser_refusal("/labels", {{"method", 1}}), "/labels/method must be a string");
  EXPECT_EQ(parser_refusal("/error", 1), "/error must be an object or null");
  EXPECT_EQ(parser_refusal("/curve/0/iteration", 1.5),
            "/curve/0/iteration must be an integer from 0 to 2^53");
  EXPECT_EQ(parser_refusal("/curve/0/iteration", 2.0), "accepted");
  EXPECT_EQ(parser_refusal("/curve/0/epoch", nullptr), "/curve/0/epoch must be a number of at least 0");
  EXPECT_EQ(parser_refusal("/curve/0/train_time_s", -1),
            "/curve/0/train_time_s must be a number of at least 0 or null");
  EXPECT_EQ(parser_refusal("/curve/0/test_loss", "low"), "/curve/0/test_loss must be a number or null");
  EXPECT_EQ(parser_refusal("/curve/0/test_accuracy", nullptr), "accepted");
  EXPECT_EQ(parser_refusal("/curve/0/test_accuracy", 25),
            "/curve/0/test_accuracy must be a number from 0 to 1 or null");
  EXPECT_EQ(parser_refusal("/targets/0/accuracy", 0),
            "/targets/0/accuracy must be a number above 0 and at most 1");
  EXPECT_EQ(parser_refusal("/targets/0/test_loss", 1),
            "/targets/0 must have one of accuracy, test_loss, bits_per_byte and perplexity");
  EXPECT_EQ(parser_refusal("/targets/0/reached", true),
            "/targets/0/iteration must be an integer, because it was reached");
  EXPECT_EQ(parser_refusal("/traffic/wire_bytes", {{"a/b->c", -1}}),
            "/traffic/wire_bytes/a~1b->c must be an integer from 0 to 2^53 or null");
  EXPECT_EQ(parser_refusal("/config", {{"topology", {{"links", {{{"between", {"a"}}}}}}}}),
            "/config/topology/links/0/between must be an array of two strings");
  EXPECT_EQ(parser_refusal("/provenance", {{"started_at", 7}}), "/provenance/started_at must be a string");
}

TEST(ParseRecord, KeepsMembersOfLaterVersions) {
  Json record = whole_record("a");
  record["later"] = {{"in", "each"}};
  record["traffic"]["later/~"] = {1};
  record["traffic"]["wire_bytes"]["a->b"] = nullptr;
  const Record read = parse_record(record);
  EXPECT_EQ(read.others.size(), 2);
  EXPECT_EQ(to_json(read), record);
  EXPECT_EQ(parse_record(to_json(read)), read);
}

TEST(ParseRecord, AReplacedPartDoesNotBringBackMembersOfLaterVersions) {
  Json record = whole_record("a");
  record["memory"]["later"] = 1;
  record["fidelity"] = {{"verdict", "faithful"}, {"checks", Json::array()}, {"later", 1}};
  Record read = parse_record(record);
  read.fidelity.reset();
  EXPECT_EQ(to_json(read).at("fidelity"), nullptr);
  EXPECT_EQ(to_json(read).at("memory").at("later"), 1);
}

}  // namespace
}  // namespace thinpipe
