// Every way in which the registered methods can be asked for: the product of their options' choices.
#pragma once

#include <string>
#include <vector>

#include "harness/support/json_object.hh"

namespace thinpipe::trainer::testing {

struct Variant {
  std::string name;  // "pactrain_values_ternary": the method and what differs from its defaults
  Json options;      // {"name": "pactrain", "values": "ternary"}
};

// Without the combinations that the method refuses. Throws Error where an option without a default has no
// values here.
std::vector<Variant> all_variants();

}  // namespace thinpipe::trainer::testing
