// The conformance suite: what every method must do, and what it promises beyond (promises.hh). Each property
// is a function that says what is wrong, so that deliberately broken methods can be seen to be caught.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer::testing {

using MakeSynchroniser = std::function<std::unique_ptr<Synchroniser>(const SynchroniserContext&)>;

struct Workers {
  std::string backend;  // "in_process" or "gloo"
  int count = 1;
};

struct Property {
  std::string name;
  bool (*applies)(const Promises& promises, const Workers& workers);
  // The violations found; empty where the property holds.
  std::vector<std::string> (*violations)(const MakeSynchroniser& make, const Workers& workers);
};

const std::vector<Property>& properties();

// What the method promises whatever its context.
Promises promises_of(const MakeSynchroniser& make);

}  // namespace thinpipe::trainer::testing
