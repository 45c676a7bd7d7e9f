// SPDX-License-Identifier: Apache-2.0
// The quantities by which two sets of results are compared. docs/how-to/compare.md defines them. Pure.
#pragma once

#include <string>
#include <vector>

namespace thinpipe {

// How a quantity is compared.
enum class QuantityKind {
  measured,  // a time or bytes on the wire: depends on machine and network, and has an interval over seeds
  learnt,    // follows from training: compared exactly, seed by seed, in modes that train without a network
  computed,  // follows from the method and its data: always compared exactly, seed by seed
};

struct ComparedQuantity {
  const char* name;     // for --metric and JSON
  const char* heading;  // for people
  const char* member;   // of a report's row; empty if it is no number of a row: the curve and the weights
  QuantityKind kind;
  bool is_of_target;                       // has no value if the target was not reached
  std::string (*show)(double value) = {};  // with its unit
  const char* restricted = nullptr;  // the member that replaces it in runs that did not reach the target
};

// Returns all quantities, in the order of the table.
const std::vector<ComparedQuantity>& comparable_quantities();

// Returns their names.
std::vector<std::string> quantity_names();

}  // namespace thinpipe
