// SPDX-License-Identifier: Apache-2.0
// All variants of the registered methods: the product of their options' choices.
#pragma once

#include <string>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe::trainer::testing {

struct Variant {
  // For example "pactrain_values_ternary": the method, and the options that differ from their defaults.
  std::string name;
  Json options;  // {"name": "pactrain", "values": "ternary"}
};

// Omits combinations that the method refuses. Throws Error if an option without a default has no values here.
std::vector<Variant> all_variants();

}  // namespace thinpipe::trainer::testing
