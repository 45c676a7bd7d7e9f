// SPDX-License-Identifier: Apache-2.0
// Partitions: which training examples each worker has.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/support/registry.hh"

namespace thinpipe::trainer {

// The property of training examples by which a partition divides them.
enum class DividedBy { nothing, classes, sources };

// The examples of each worker, by rank. Each example is in one part, no part is empty, and indices ascend.
using Parts = std::vector<std::vector<std::int64_t>>;

class Partition {
 public:
  Partition() = default;
  virtual ~Partition() = default;
  Partition(const Partition&) = delete;
  Partition& operator=(const Partition&) = delete;
  Partition(Partition&&) = delete;
  Partition& operator=(Partition&&) = delete;

  virtual DividedBy divided_by() const = 0;

  // Returns the parts, which depend on the arguments alone; nullopt if divided by nothing: workers then have
  // no examples of their own. keys: the class or source of each example; empty if examples have none. Throws
  // InputError if the examples cannot be divided in this way.
  virtual std::optional<Parts> divide(const std::vector<std::int64_t>& keys, std::int64_t workers,
                                      std::uint64_t seed) const = 0;
};

// {"name": "dirichlet", "alpha": 0.1}
using PartitionRegistry = Registry<Partition>;
using PartitionRegistration = Registration<Partition>;

}  // namespace thinpipe::trainer
