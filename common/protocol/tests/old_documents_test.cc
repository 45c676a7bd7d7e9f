// SPDX-License-Identifier: Apache-2.0
// Traces and profiles of versions whose names have changed since.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/protocol/compute_profile.hh"
#include "common/protocol/trace.hh"

namespace thinpipe {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr const char* profile_of_version_4 = R"({
  "schema_version": 4, "origin": "measured", "device": {"name": "A CPU"},
  "configuration": {"pruning": {"again_every_iterations": 5}, "synchroniser": {"inner": {"indices": "merged"}}},
  "concurrent_workers": 2, "iterations": 20, "variation": 0.05,
  "load_s": 0.001, "ready_s": [0.5], "compute_s": 0.51, "finish_s": 0.02, "encode_s": 0.003, "decode_s": 0.004,
  "between_s": 0.001, "taking_s": 0.002, "prepare_s": 0, "start_s": 0.03,
  "processor": {"load_s": 0.001, "ready_s": [0.1], "compute_s": 0.1, "finish_s": 0.02, "encode_s": 0.003,
                "decode_s": 0.004, "between_s": 0.0005, "taking_s": 0.0025, "prepare_s": 0.01, "start_s": 0.04}})";

constexpr const char* trace_of_version_4 = R"({
  "schema_version": 4, "world_size": 2, "configuration": {"training": {"check_agreement_every_iterations": 3}},
  "parameters": [{"name": "weight", "elements": 9}], "layouts": [[[0]]],
  "exchanges": [{"layout": 0, "buckets": [[
    {"operation": "all_reduce", "type": "int8", "elements": 9, "reduction": "sum", "largest_code": 1, "in_pieces": true},
    {"operation": "sum_entries", "elements": 9, "payload_bytes": 4, "edges": []},
    {"operation": "mailbox", "message_bytes": 8, "posts": [["send", 1, 8, 1], ["receive", 1]]}]]}],
  "workers": [[[0, 1]], [[0, 1]]]})";

TEST(OldDocuments, AProfileOfVersion4KeepsItsTimes) {
  const Json written = to_json(parse_profile(Json::parse(profile_of_version_4), "profile.json"));
  EXPECT_EQ(written["schema_version"], profile_schema_version);
  EXPECT_EQ(written["between_collectives_s"], 0.001);
  EXPECT_EQ(written["overlapped_decode_s"], 0.002);
  EXPECT_EQ(written["warm_up_s"], 0.03);
  EXPECT_EQ(written["cpu"]["between_collectives_s"], 0.0005);
  EXPECT_EQ(written["cpu"]["overlapped_decode_s"], 0.0025);
  EXPECT_EQ(written["cpu"]["warm_up_s"], 0.04);
  EXPECT_EQ(written["configuration"],
            Json({{"pruning", {{"update_mask_every_iterations", 5}}},
                  {"synchroniser", {{"inner", {{"indices", "sparse_all_reduce"}}}}}}));
}

TEST(OldDocuments, ATraceOfVersion4KeepsItsCalls) {
  const Json written = to_json(parse_trace(Json::parse(trace_of_version_4), "trace.json"));
  EXPECT_EQ(written["schema_version"], trace_schema_version);
  const Json& calls = written["exchanges"][0]["buckets"][0];
  EXPECT_EQ(calls[0]["in_chunks"], true);
  EXPECT_EQ(calls[1]["operation"], "sparse_all_reduce");
  EXPECT_EQ(calls[2]["operation"], "point_to_point");
  EXPECT_EQ(written["configuration"], Json({{"training", {{"check_replicas_every_iterations", 3}}}}));
}

TEST(OldDocuments, AnOldNameInADocumentOfThisVersionIsRefusedWithTheNewOne) {
  Json profile = to_json(parse_profile(Json::parse(profile_of_version_4), "profile.json"));
  profile["taking_s"] = profile["overlapped_decode_s"];
  profile.erase("overlapped_decode_s");
  EXPECT_THAT([&profile] { parse_profile(profile, "profile.json"); },
              ThrowsMessage<InputError>(
                  HasSubstr("profile.json at /taking_s: is now called \"overlapped_decode_s\"")));
}

}  // namespace
}  // namespace thinpipe
