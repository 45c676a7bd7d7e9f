// SPDX-License-Identifier: Apache-2.0
#include "harness/simulation/machine_file.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const MachineFile machine = {
    .device = {{"cpu", "a processor"}},
    .configuration = {{"workers", 8}},
    .cores = 2,
    .costs = {.core_s_per_message = 2e-5, .core_s_per_byte = 1e-9, .core_s_per_capped_byte = 4e-9},
    .balancing_s = 0.002};

std::string refusal(const Json& changes) {
  Json value = to_json(machine);
  value.update(changes);
  try {
    parse_machine_file(value, "machine.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(MachineFile, IsReadBack) {
  EXPECT_EQ(to_json(parse_machine_file(to_json(machine), "machine.json")), to_json(machine));
}

TEST(MachineFile, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(refusal({{"cores", 0}}), StartsWith("machine.json at /cores"));
  EXPECT_THAT(refusal({{"core_s_per_message", -1}}), StartsWith("machine.json at /core_s_per_message"));
  EXPECT_THAT(refusal({{"core_s_per_bytes", 1}}), HasSubstr("core_s_per_byte"));
  EXPECT_THAT(refusal({{"schema_version", 2}}), HasSubstr("newer thinpipe"));
  EXPECT_THROW(parse_machine_file({{"schema_version", 1}}, "machine.json"), InputError);
}

}  // namespace
}  // namespace thinpipe
