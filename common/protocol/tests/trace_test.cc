// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/trace.hh"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/file_descriptor.hh"
#include "common/support/tests/paths.hh"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;

// Returns a trace with every operation, two layouts and local steps.
Json every_operation() {
  return parse_json_file(source_path("common/protocol/fuzz/corpus/communication_trace/every-operation.json"));
}

CommunicationTrace parsed(const Json& value) {
  return parse_trace(value, "trace.json");
}

std::string refusal(const Json& value) {
  try {
    parsed(value);
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing was refused";
}

std::string refusal_after(const char* pointer, const Json& replacement) {
  Json value = every_operation();
  value[Json::json_pointer(pointer)] = replacement;
  return refusal(value);
}

TEST(CommunicationTrace, ReadsBackAsItWasWritten) {
  EXPECT_EQ(to_json(parsed(every_operation())), every_operation());
}

TEST(CommunicationTrace, KeepsWhatACallTakesToBeMadeAgain) {
  const CommunicationTrace trace = parsed(every_operation());
  const auto& calls = trace.exchanges.at(1).buckets.at(0);
  EXPECT_EQ(calls.at(0), CollectiveCall(AllGatherCall{.type = ElementType::uint8, .counts = {12, 20}}));
  EXPECT_EQ(calls.at(1),
            CollectiveCall(AllToAllCall{.type = ElementType::int8, .sent = {1, 2}, .received = {1, 3}}));
  EXPECT_EQ(
      calls.at(3),
      CollectiveCall(SparseAllReduceCall{
          .elements = 40000, .payload_bytes = 72, .edges = {{.neighbour = 1, .sent = 72, .received = 96}}}));
  EXPECT_EQ(calls.at(5),
            CollectiveCall(AllReduceCall{
                .type = ElementType::uint8, .elements = 520, .reduction = Reduction::scaled_sum}));
  const PointToPointCall messages{.message_bytes = 64,
                                  .messages = {{.to = 1, .bytes = 64, .repeat = 3}, {.repeat = 2}}};
  EXPECT_EQ(trace.exchanges.at(1).buckets.at(1).at(1), CollectiveCall(messages));
}

TEST(CommunicationTrace, CountsItsSteps) {
  EXPECT_EQ(parsed(every_operation()).steps(), 8);
}

TEST(CommunicationTrace, ElementsHaveTheirSizes) {
  EXPECT_EQ(bytes_of(ElementType::float32), 4);
  EXPECT_EQ(bytes_of(ElementType::bfloat16), 2);
  EXPECT_EQ(bytes_of(ElementType::boolean), 1);
  EXPECT_EQ(name_of(ElementType::int64), "int64");
}

TEST(CommunicationTrace, OfANewerVersionIsRefused) {
  EXPECT_THAT(refusal_after("/schema_version", 7),
              HasSubstr("trace.json at /schema_version: is 7: the trace was made by a newer thinpipe"));
}

TEST(CommunicationTrace, ThatPointsNowhereIsRefused) {
  EXPECT_THAT(refusal_after("/workers/0/1/0", 2),
              HasSubstr("must be below 2, the number of exchanges, but is 2"));
  EXPECT_THAT(refusal_after("/exchanges/1/layout", 2), HasSubstr("the number of layouts"));
  EXPECT_THAT(refusal_after("/layouts/0/0/1", 2), HasSubstr("the number of parameters"));
  EXPECT_THAT(refusal_after("/exchanges/1/buckets/1/0/root", 2), HasSubstr("must be at least 0 and below 2"));
}

TEST(CommunicationTrace, WhosePartsDoNotFitTogetherIsRefused) {
  Json another_worker = every_operation();
  another_worker["workers"].push_back(another_worker["workers"][0]);
  EXPECT_THAT(refusal(another_worker), HasSubstr("must have 2 entries, one for each worker, but has 3"));
  EXPECT_THAT(refusal_after("/workers/1/1/1", 2), HasSubstr("has 9 steps, but worker 0 has 8"));
  EXPECT_THAT(refusal_after("/exchanges/0/layout", 1),
              HasSubstr("must have 2 entries, one per bucket of its layout"));
  EXPECT_THAT(refusal_after("/exchanges/1/buckets/0/0/counts", Json{1}),
              HasSubstr("must have 2 counts, one for each worker, but has 1"));
}

TEST(CommunicationTrace, OfNonsenseIsRefusedByName) {
  EXPECT_THAT(refusal_after("/exchanges/0/buckets/0/0/operation", "all_redduce"), HasSubstr("all_reduce"));
  EXPECT_THAT(refusal_after("/exchanges/0/buckets/0/0/type", "float8"), HasSubstr("float8"));
  EXPECT_THAT(refusal_after("/exchanges/1/buckets/1/1/posts/0", Json{"post", 1}),
              HasSubstr("must be [\"send\", to, bytes, repeat] or [\"receive\", repeat]"));
  EXPECT_THAT(refusal_after("/exchanges/0/buckets", 3), HasSubstr("must be a list"));
  EXPECT_THAT(refusal_after("/world_size", 0), HasSubstr("/world_size"));
  EXPECT_THAT(refusal(Json::array()), HasSubstr("trace.json"));
}

TEST(CommunicationTrace, OfAnOlderVersionIsRead) {
  Json value = every_operation();
  value["schema_version"] = 1;
  value["exchanges"][1]["buckets"][0].erase(3);
  value["exchanges"][1]["buckets"][0].erase(2);
  EXPECT_EQ(parsed(value).steps(), 8);
}

TEST(CommunicationTrace, OfAnOlderVersionExchangesChangesAtTheEndsOfSteps) {
  Json value = every_operation();
  value["schema_version"] = 5;
  for (Json& exchange : value["exchanges"]) exchange.erase("overlap_steps");
  EXPECT_EQ(parsed(value).exchanges[0].overlap_steps, 0);
  for (Json& steps : value["workers"]) steps.erase(2);
  EXPECT_EQ(parsed(value).exchanges[0].overlap_steps, std::nullopt) << "without local steps";
}

TEST(CommunicationTrace, OfCodesWhoseSumsDoNotFitIsRefused) {
  const std::string call = "/exchanges/1/buckets/0/2";
  EXPECT_THAT(refusal_after((call + "/largest_code").c_str(), 64),
              HasSubstr("must be at least 1 and at most 63"));
  EXPECT_THAT(refusal_after((call + "/type").c_str(), "int32"), HasSubstr("is valid only for sums of int8"));
  EXPECT_THAT(refusal_after((call + "/reduction").c_str(), "max"),
              HasSubstr("is valid only for sums of int8"));
}

TEST(CommunicationTrace, OfPiecesOfWhatHasNoneIsRefused) {
  EXPECT_EQ(chunked_all_reduce(parsed(every_operation()).exchanges.at(1).buckets.at(0).at(2))->elements, 9);
  EXPECT_EQ(chunked_all_reduce(parsed(every_operation()).exchanges.at(0).buckets.at(0).at(0)), nullptr);
  EXPECT_THAT(refusal_after("/exchanges/0/buckets/0/0/in_chunks", true),
              HasSubstr("is valid only for sums of codes"));
}

TEST(CommunicationTrace, OfScaledSumsWithoutWholeBlocksIsRefused) {
  EXPECT_THAT(refusal_after("/exchanges/1/buckets/0/5/elements", 519),
              HasSubstr("/5/reduction: is valid only for uint8 in blocks of 260 elements"));
  EXPECT_THAT(refusal_after("/exchanges/1/buckets/0/5/type", "int8"), HasSubstr("/5/reduction"));
}

TEST(CommunicationTrace, OfEdgesThatAreNoneIsRefused) {
  const std::string edges = "/exchanges/1/buckets/0/3/edges";
  EXPECT_THAT(refusal_after((edges + "/0").c_str(), Json{1, 72}),
              HasSubstr("must be [neighbour, sent, received], but is [1,72]"));
  EXPECT_THAT(refusal_after((edges + "/0/0").c_str(), 2), HasSubstr("must be at least 0 and below 2"));
  EXPECT_THAT(refusal_after((edges + "/0/1").c_str(), -1), HasSubstr("must be at least 0"));
  EXPECT_THAT(refusal_after(edges.c_str(), Json{{1, 72, 96}, {1, 72, 96}}),
              HasSubstr("must have each neighbour once, ascending"));
}

TEST(CommunicationTrace, ASumOfCodesTakesTheBitsThatItsWorkersMayNeed) {
  EXPECT_EQ(bits_of_code_sum(1, 1), 2);
  EXPECT_EQ(bits_of_code_sum(3, 1), 3);
  EXPECT_EQ(bits_of_code_sum(4, 1), 4);
  EXPECT_EQ(bits_of_code_sum(5, 1), 4);
  EXPECT_EQ(bits_of_code_sum(8, 1), 5);
  EXPECT_EQ(bits_of_code_sum(1, 127), 8);
}

TEST(CommunicationTrace, CutShortIsRefused) {
  const std::string text = to_json(parsed(every_operation())).dump();
  EXPECT_THROW(parse_json(text.substr(0, text.size() / 2), "trace.json"), InputError);
}

}  // namespace
}  // namespace thinpipe
