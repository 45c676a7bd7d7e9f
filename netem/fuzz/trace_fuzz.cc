// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "common/support/fuzz/input.hh"
#include "netem/topology/topology.hh"
#include "netem/topology/trace.hh"

using namespace thinpipe;

namespace {

void check(const netem::RateTrace& trace) {
  fuzz::require(!trace.steps.empty() && trace.steps.front().at_s == 0, "a trace begins at 0");
  double last_s = -1;
  for (const netem::RateStep& step : trace.steps) {
    fuzz::require(std::isfinite(step.at_s) && step.at_s > last_s, "times increase");
    fuzz::require(
        step.rate_bit_per_s >= netem::min_rate_bit_per_s && step.rate_bit_per_s <= netem::max_rate_bit_per_s,
        "rates are within the limits of a topology");
    last_s = step.at_s;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text(data, size);
  fuzz::expect_result_or_error([&] { check(netem::parse_rate_csv(text, "fuzz.csv")); });
  return fuzz::expect_result_or_error([&] { check(netem::parse_mahimahi(text, "fuzz.trace")); });
}
