// SPDX-License-Identifier: Apache-2.0
// Assigns the entries of a vector to owners by a hash of the index. Each worker owns about as many of the
// entries in use, whichever these are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe::trainer {

class HashedOwners {
 public:
  // Assigns n entries; the same for the same arguments, on every worker.
  HashedOwners(std::int64_t n, int world_size, std::uint64_t seed);

  // Returns the entries of `owner`, ascending.
  std::span<const std::uint32_t> of(int owner) const;

 private:
  std::vector<std::uint32_t> entries_;  // entries of owner 0, then those of owner 1, and so on
  std::vector<std::size_t> begins_;     // where each owner's entries begin; the last is the end of all
};

}  // namespace thinpipe::trainer
