// Owners of the entries of a vector, drawn by a hash of the index: whichever entries are in use, each worker
// owns about as many of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe::trainer {

class HashedOwners {
 public:
  // Of n entries: the same for the same arguments, on every worker.
  HashedOwners(std::int64_t n, int world_size, std::uint64_t seed);

  // The entries of `owner`, ascending.
  std::span<const std::uint32_t> of(int owner) const;

 private:
  std::vector<std::uint32_t> entries_;  // those of owner 0, then those of owner 1, and so on
  std::vector<std::size_t> begins_;     // of each owner's entries; the last is the end of all
};

}  // namespace thinpipe::trainer
