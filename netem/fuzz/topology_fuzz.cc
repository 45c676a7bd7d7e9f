// SPDX-License-Identifier: Apache-2.0
#include "common/support/fuzz/input.hh"
#include "netem/topology/topology.hh"
#include "netem/topology/topology_format.hh"

using namespace thinpipe;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::expect_result_or_error([&] {
    const Json written = parse_json(fuzz::text(data, size), "fuzz.json");
    const Json normalised = netem::to_json(netem::parse_topology(written, {"fuzz.json", ""}));
    const Json again = netem::to_json(netem::parse_topology(normalised, {"fuzz.json", ""}));
    fuzz::require(again == normalised, "a topology reads back as written");
  });
}
