// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/trace.hh"
#include "common/support/fuzz/input.hh"

using namespace thinpipe;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::expect_result_or_error([&] {
    const CommunicationTrace trace = parse_trace(parse_json(fuzz::text(data, size), "fuzz"), "fuzz");
    fuzz::require(to_json(parse_trace(to_json(trace), "fuzz")) == to_json(trace),
                  "a trace reads back as it was written");
  });
}
