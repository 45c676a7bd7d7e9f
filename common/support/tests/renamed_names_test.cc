// SPDX-License-Identifier: Apache-2.0
#include "common/support/renamed_names.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe {
namespace {

using nlohmann::json;
using testing::Optional;

// Two changes: the second renames what the first had renamed.
RenamedNames example() {
  return RenamedNames(json::parse(R"({
    "configuration_at": {"record": "/config", "trace": "/configuration"},
    "changes": [
      {"schema_versions": {"record": 2, "trace": 5},
       "renamed": {
         "configuration": [{"at": "/tree", "name": "parents"},
                           {"at": "/method/**/codes", "name": "encoding", "values": {"merged": "summed"}}],
         "record": [{"at": "/idle/wake_ups/most_s", "name": "max_s"},
                    {"at": "/idle/wake_ups", "name": "latency"},
                    {"at": "/checks/*/asked", "name": "specified"},
                    {"at": "/kind", "values": {"works": "busy"}}],
         "event": [{"at": "/processor_s", "name": "cpu_s"}]}},
      {"schema_versions": {"record": 3},
       "renamed": {"configuration": [{"at": "/parents", "name": "reduction_tree"}],
                   "record": [{"at": "/idle/latency", "name": "wakeup_latency"}]}}]})"));
}

json upgraded(json document, const std::string& kind) {
  example().upgrade(document, kind);
  return document;
}

TEST(RenamedNames, UpgradesMembersValuesAndTheConfiguration) {
  const json old = {
      {"schema_version", 1},
      {"idle", {{"wake_ups", {{"count", 3}, {"most_s", 0.5}}}}},
      {"checks", {{{"asked", 1}, {"ok", true}}, {{"ok", false}}}},
      {"kind", "works"},
      {"asked", "elsewhere"},
      {"config", {{"tree", {-1, 0}}, {"method", {{"inner", {{"codes", "merged"}}}, {"codes", "u32"}}}}}};
  EXPECT_EQ(upgraded(old, "record"),
            json({{"schema_version", 1},
                  {"idle", {{"wakeup_latency", {{"count", 3}, {"max_s", 0.5}}}}},
                  {"checks", {{{"specified", 1}, {"ok", true}}, {{"ok", false}}}},
                  {"kind", "busy"},
                  {"asked", "elsewhere"},
                  {"config",
                   {{"reduction_tree", {-1, 0}},
                    {"method", {{"inner", {{"encoding", "summed"}}}, {"encoding", "u32"}}}}}}));
}

TEST(RenamedNames, AppliesOnlyChangesThatAreNewerThanTheDocument) {
  const json second = {{"schema_version", 2}, {"tree", 1}, {"config", {{"tree", 1}, {"parents", 2}}}};
  EXPECT_EQ(upgraded(second, "record")["config"], json({{"tree", 1}, {"reduction_tree", 2}}));
  const json third = {{"schema_version", 3}, {"config", {{"tree", 1}, {"parents", 2}}}};
  EXPECT_EQ(upgraded(third, "record"), third);
  const json trace = {{"schema_version", 4}, {"configuration", {{"tree", 1}}}};
  EXPECT_EQ(upgraded(trace, "trace")["configuration"], json({{"parents", 1}})) << "a change of records only";
}

TEST(RenamedNames, AMemberOfAnotherTypeStaysAsItIs) {
  const json strange = {
      {"schema_version", 1}, {"idle", nullptr}, {"checks", "none"}, {"kind", 4}, {"config", 1}};
  EXPECT_EQ(upgraded(strange, "record"), strange);
}

TEST(RenamedNames, AConfigurationsFirstNamesAreThoseBeforeAnyChange) {
  const json first = {{"tree", {-1, 0}}, {"method", {{"inner", {{"codes", "merged"}}}, {"codes", "u32"}}}};
  const json now = upgraded({{"schema_version", 1}, {"config", first}}, "record")["config"];
  EXPECT_NE(now, first);
  EXPECT_EQ(example().with_first_names(now), first);
}

TEST(RenamedNames, FindsTheCurrentNameIfItIsKnown) {
  EXPECT_THAT(example().current_name("processor_s", {"time_s", "cpu_s"}), Optional(std::string("cpu_s")));
  EXPECT_EQ(example().current_name("processor_s", {"time_s"}), std::nullopt) << "means something else here";
  EXPECT_EQ(example().current_name("kind", {"kind"}), std::nullopt) << "only its values changed";
  EXPECT_THAT(example().current_value("works", {"busy", "sleep"}), Optional(std::string("busy")));
  EXPECT_EQ(example().current_value("works", {"sleep"}), std::nullopt);
}

}  // namespace
}  // namespace thinpipe
