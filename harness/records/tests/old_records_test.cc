// SPDX-License-Identifier: Apache-2.0
// Records and experiments of versions whose names have changed since.
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/options.hh"
#include "common/support/tests/paths.hh"
#include "harness/plan/run_id.hh"
#include "harness/records/record.hh"

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
  std::map<std::string, int> verdicts;
  int examined = 0;
  for (const RecordPlace& place : find_records(source_path("results/reference"))) {
    const Record record = find_record(place).value();
    if (!record.fidelity) continue;
    ++verdicts[record.fidelity->verdict];
    // Newer runs probe the links that their training does not fill, and count the directions that were judged.
    if (record.fidelity->verdict != "faithful" || record.fidelity->judged_directions) continue;
    ++examined;
    for (const record::Check& check : record.fidelity->checks) {
      const bool is_rate = check.name.starts_with("median rate while backlogged");
      EXPECT_FALSE(is_rate && check.measured.is_null()) << record.run_id << ": " << check.name;
    }
  }
  EXPECT_GT(examined, 0);
  EXPECT_GT(verdicts["not judged"], 0);
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
