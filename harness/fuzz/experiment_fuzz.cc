// SPDX-License-Identifier: Apache-2.0
#include "common/support/fuzz/input.hh"
#include "harness/experiment/experiment.hh"

using namespace thinpipe;

namespace {

// Expanding more points takes too long for a fuzzer.
constexpr double max_points = 1000;

double points(const Experiment& experiment) {
  double count = 1;
  for (const Axis& axis : experiment.axes) count *= static_cast<double>(axis.values.size());
  return count;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::expect_result_or_error([&] {
    const Experiment experiment = parse_experiment(fuzz::text(data, size), "fuzz.json", {"seed=2"});
    if (points(experiment) > max_points) return;
    for (const Point& point : expand(experiment)) {
      fuzz::require(point.config().is_object(), "a configuration is an object");
      fuzz::require(!point.place_of("/seed").file.empty(), "every value has its place");
    }
  });
}
