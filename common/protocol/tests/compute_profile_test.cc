// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/compute_profile.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe {
namespace {

using ::testing::HasSubstr;

Json a_configuration() {
  return {{"model", {{"name", "mlp"}}},
          {"dataset", {{"name", "synthetic"}}},
          {"training", {{"batch_size_per_worker", 32}}}};
}

ComputeProfile a_profile() {
  return {.device = {{"name", "A CPU"}},
          .configuration = a_configuration(),
          .concurrent_workers = 8,
          .iterations = 20,
          .elapsed = {.load_s = 0.001,
                      .ready_s = {0.5, 0.4},
                      .compute_s = 0.51,
                      .finish_s = 0.02,
                      .encode_s = 0.003,
                      .decode_s = 0.004,
                      .between_collectives_s = 0.001,
                      .overlapped_decode_s = 0.002},
          .cpu = ComputeTimes{.ready_s = {0.12, 0.1}, .compute_s = 0.13, .prepare_s = 0.01, .start_s = 0.02},
          .variation = 0.05};
}

CommunicationTrace a_trace() {
  return {.configuration = a_configuration(), .parameters = {{"weight", 10}, {"bias", 1}}};
}

std::string refusal_of(const ComputeProfile& profile) {
  try {
    check_profile_fits(profile, "profile.json", a_trace());
  } catch (const InputError& error) {
    return error.what();
  }
  return "it was taken";
}

TEST(ComputeProfile, ReadsBackAsItWasWritten) {
  const Json written = to_json(a_profile());
  EXPECT_EQ(to_json(parse_profile(written, "profile.json")), written);
  EXPECT_EQ(written["ready_s"], (Json{0.5, 0.4}));
  EXPECT_EQ(written["cpu"]["ready_s"], (Json{0.12, 0.1}));
  Json without_cpu = written;
  without_cpu.erase("cpu");
  EXPECT_FALSE(parse_profile(without_cpu, "profile.json").cpu);
}

TEST(ComputeProfile, ThatIsNewerOrIncompleteIsRefused) {
  Json newer = to_json(a_profile());
  newer["schema_version"] = profile_schema_version + 1;
  EXPECT_THROW(
      {
        try {
          parse_profile(newer, "profile.json");
        } catch (const InputError& error) {
          EXPECT_THAT(error.what(), HasSubstr("profile.json at /schema_version: is 6"));
          throw;
        }
      },
      InputError);
  Json without_time = to_json(a_profile());
  without_time.erase("finish_s");
  EXPECT_THROW(parse_profile(without_time, "profile.json"), InputError);
  Json between_more_than_there_is = to_json(a_profile());
  between_more_than_there_is["between_collectives_s"] = 0.0031;
  EXPECT_THROW(parse_profile(between_more_than_there_is, "profile.json"), InputError);
  Json negative = to_json(a_profile());
  negative["load_s"] = -1;
  EXPECT_THROW(parse_profile(negative, "profile.json"), InputError);
}

TEST(ComputeProfile, OfTheFirstVersionHasAllEncodingBeforeCollectives) {
  Json first = to_json(a_profile());
  first["schema_version"] = 1;
  for (Json* times : {&first, &first["cpu"]}) {
    times->erase("between_collectives_s");
    times->erase("prepare_s");
    times->erase("overlapped_decode_s");
    times->erase("warm_up_s");
  }
  first.erase("variation");
  EXPECT_EQ(parse_profile(first, "profile.json").elapsed.between_collectives_s, 0);
}

TEST(ComputeProfile, OfTheSecondVersionPreparesNoBatchesAndDoesNotVary) {
  Json second = to_json(a_profile());
  second["schema_version"] = 2;
  EXPECT_THROW(parse_profile(second, "profile.json"), InputError);
  for (Json* times : {&second, &second["cpu"]}) {
    times->erase("prepare_s");
    times->erase("overlapped_decode_s");
    times->erase("warm_up_s");
  }
  second.erase("variation");
  const ComputeProfile profile = parse_profile(second, "profile.json");
  EXPECT_EQ(profile.cpu->prepare_s, 0);
  EXPECT_EQ(profile.variation, 0);
}

TEST(ComputeProfile, OfTheThirdVersionStartsLikeEveryIteration) {
  Json third = to_json(a_profile());
  third["schema_version"] = 3;
  EXPECT_THROW(parse_profile(third, "profile.json"), InputError);
  for (Json* times : {&third, &third["cpu"]}) {
    times->erase("overlapped_decode_s");
    times->erase("warm_up_s");
  }
  const ComputeProfile profile = parse_profile(third, "profile.json");
  EXPECT_EQ(profile.cpu->start_s, 0);
  EXPECT_EQ(profile.variation, 0.05);
}

TEST(ComputeProfile, FitsTheTraceOfItsTraining) {
  EXPECT_EQ(refusal_of(a_profile()), "it was taken");
}

TEST(ComputeProfile, OfAnotherModelOrBatchIsRefusedByName) {
  ComputeProfile other_model = a_profile();
  other_model.configuration["model"]["name"] = "vgg19";
  EXPECT_THAT(refusal_of(other_model),
              HasSubstr(R"(/configuration/model: the profile was made for {"name":"vgg19"})"));
  ComputeProfile other_batch = a_profile();
  other_batch.configuration["training"]["batch_size_per_worker"] = 16;
  EXPECT_THAT(refusal_of(other_batch),
              HasSubstr("batch_size_per_worker: the profile was made for 16, the trace for 32"));
  ComputeProfile fewer = a_profile();
  fewer.elapsed.ready_s.pop_back();
  EXPECT_THAT(refusal_of(fewer), HasSubstr("has 1 parameters, but the trace has 2"));
  ComputeProfile fewer_measured = a_profile();
  fewer_measured.cpu->ready_s.pop_back();
  EXPECT_THAT(refusal_of(fewer_measured), HasSubstr("/cpu/ready_s: has 1 parameters"));
}

}  // namespace
}  // namespace thinpipe
