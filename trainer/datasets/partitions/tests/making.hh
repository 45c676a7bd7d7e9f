// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of partitions.
#pragma once

#include <string>

#include "trainer/datasets/partitions/partition.hh"

namespace thinpipe::trainer::testing {

using Keys = std::vector<std::int64_t>;  // the class or source of each example

inline std::unique_ptr<Partition> make_partition(const Json& options) {
  return PartitionRegistry::instance().make(options, {"experiment.json", "/partition"});
}

inline Parts divide(const Json& options, const Keys& keys, std::int64_t workers, std::uint64_t seed = 1) {
  return make_partition(options)->divide(keys, workers, seed).value();
}

inline std::string refusal(const Json& options, const Keys& keys, std::int64_t workers) {
  try {
    divide(options, keys, workers);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

// Returns `each` examples of each of the classes 0, 1, ..., in turn.
inline Keys balanced(std::int64_t classes, std::int64_t each) {
  Keys keys;
  for (std::int64_t i = 0; i < classes * each; ++i) keys.push_back(i % classes);
  return keys;
}

}  // namespace thinpipe::trainer::testing
