// SPDX-License-Identifier: Apache-2.0
// Which methods pay off for a model, a network and a compute time, by the prediction of `thinpipe plan`
// (harness/plan/prediction.hh). Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/advice/codec_costs.hh"
#include "harness/plan/run.hh"

namespace thinpipe {

struct Candidate {
  std::string method;  // its label
  Run run;             // planned, over the topology with its own caps
  std::optional<CodecTime> codec = {};
};

// Returns whether the prediction holds for such a run: live training over a network that does not change, with a
// method whose traffic is known.
bool can_predict(const Run& run);

// Returns the time of an iteration with this compute time. `rate_bit_per_s`: one cap for all bottlenecks; nullopt:
// the topology's own. Encoding and decoding take no time if their cost is unknown.
double predict_iteration_s(const Candidate& candidate, double compute_s,
                           std::optional<double> rate_bit_per_s = {});

// Returns {"threshold", "rates_bit_per_s", "methods": […]}; docs/how-to/advise.md defines the members.
// `candidates` has the methods "dense" and "fp16", with which each is compared. The rates are in rising order.
Json advise(const std::vector<Candidate>& candidates, double compute_s,
            const std::vector<double>& rates_bit_per_s);

}  // namespace thinpipe
