// SPDX-License-Identifier: Apache-2.0
// The methods that `thinpipe advise` compares. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe {

struct AdvisedMethod {
  std::string label;
  Json patch;  // of the configuration
};

// Returns the methods that are compared by default, with their usual options.
const std::vector<AdvisedMethod>& usual_methods();

// Returns the methods that the user named, after the baselines dense and fp16. Each text is the label of a usual
// method or "NAME KEY=VALUE…": one of the `known` synchronisers, with some of its options or, if a key is a dotted
// path, values of the configuration. Throws InputError.
std::vector<AdvisedMethod> read_methods(const std::vector<std::string>& texts,
                                        const std::vector<std::string>& known);

}  // namespace thinpipe
