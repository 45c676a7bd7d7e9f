// SPDX-License-Identifier: Apache-2.0
// Records and experiments of versions whose names have changed since.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/options.hh"
#include "common/support/tests/paths.hh"
#include "harness/plan/run_id.hh"
#include "harness/records/record.hh"
#include "harness/records/tests/whole_record.hh"

namespace thinpipe {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const std::set<std::string> old_names = {"again_every_iterations",
                                         "asked",
                                         "check_agreement_every_iterations",
                                         "computing",
                                         "half_width_s",
                                         "held",
                                         "processor",
                                         "starting_weights",
                                         "sum_tree"};

void collect_names(const Json& value, std::set<std::string>& names) {
  if (value.is_string()) names.insert(value.get<std::string>());
  if (!value.is_structured()) return;
  for (const auto& [key, member] : value.items()) {
    if (value.is_object()) names.insert(key);
    collect_names(member, names);
  }
}

TEST(OldRecords, TheReferenceResultsOfVersion1AreReadWithTheCurrentNames) {
  std::set<std::string> names;
  const auto places = find_records(source_path("results/reference"));
  EXPECT_GT(places.size(), 700);
  for (const RecordPlace& place : places) {
    const Json record = to_json(find_record(place).value());
    EXPECT_EQ(record.at("schema_version"), record_schema_version);
    for (const char* part : {"config", "iteration_time_s", "fidelity", "network_events", "replay"}) {
      if (record.contains(part)) collect_names(record.at(part), names);
    }
    EXPECT_TRUE(record.contains("initial_weights"));
    EXPECT_FALSE(record.contains("starting_weights"));
  }
  for (const std::string& old : old_names) EXPECT_FALSE(names.contains(old)) << old;
  for (const char* current :
       {"reduction_tree", "update_mask_every_iterations", "check_replicas_every_iterations",
        "sparse_all_reduce", "cpu", "requested", "applied", "specified", "compute_emulation", "busy", "sleep",
        "ci95_half_width_s"}) {
    EXPECT_TRUE(names.contains(current)) << current;
  }
}

TEST(OldRecords, ANetworkWhoseRatesWereNeverMeasuredIsNotJudged) {
  const auto verdict_of = [](int version, const Json& rate) {
    Json record = whole_record("dense");
    record["schema_version"] = version;
    record["fidelity"] = {{"verdict", "faithful"},
                          {"checks", Json::array({{{"name", "median rate while backlogged left->middle"},
                                                   {"specified", "at least 0.98 of the cap"},
                                                   {"measured", rate},
                                                   {"ok", true}}})}};
    return parse_record_text(record.dump(), record_name).value().fidelity->verdict;
  };
  EXPECT_EQ(verdict_of(2, nullptr), "not judged");
  EXPECT_EQ(verdict_of(2, 1.01), "faithful");
  EXPECT_EQ(verdict_of(record_schema_version, nullptr), "faithful") << "probes may have measured it";
}

TEST(OldRecords, ARunKeepsTheIdThatItHadWithTheOldNames) {
  const Json before = {
      {"sum_tree", {-1, 0}},
      {"pruning", {{"again_every_iterations", 0}}},
      {"training", {{"check_agreement_every_iterations", 0}}},
      {"synchroniser", {{"name", "ef"}, {"inner", {{"name", "topk"}, {"indices", "merged"}}}}}};
  const Json now = {
      {"reduction_tree", {-1, 0}},
      {"pruning", {{"update_mask_every_iterations", 0}}},
      {"training", {{"check_replicas_every_iterations", 0}}},
      {"synchroniser", {{"name", "ef"}, {"inner", {{"name", "topk"}, {"indices", "sparse_all_reduce"}}}}}};
  EXPECT_EQ(decisive_part(now), before);
  EXPECT_EQ(run_id(now), content_hash(before.dump()));
}

struct Renamed {
  std::int64_t update_mask_every_iterations = 0;
  std::string indices = "u32";

  void visit(auto& field) {
    field("update_mask_every_iterations", update_mask_every_iterations, Rule{.effect = "…"});
    field("indices", indices, Rule{.effect = "…", .one_of = {"u32", "sparse_all_reduce"}});
  }
};

TEST(OldExperiments, AnOldNameIsRefusedWithTheNewOne) {
  const Place place{"test.json", "/base/pruning"};
  EXPECT_THAT(([&place] {
                read_options<Renamed>({{"again_every_iterations", 3}}, place);
              }),
              ThrowsMessage<InputError>(HasSubstr("test.json at /base/pruning/again_every_iterations: is now "
                                                  "called \"update_mask_every_iterations\"")));
  EXPECT_THAT(([&place] {
                read_options<Renamed>({{"indices", "merged"}}, place);
              }),
              ThrowsMessage<InputError>(HasSubstr(
                  "test.json at /base/pruning/indices: \"merged\" is now called \"sparse_all_reduce\"")));
}

}  // namespace
}  // namespace thinpipe
