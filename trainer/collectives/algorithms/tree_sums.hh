// SPDX-License-Identifier: Apache-2.0
// The order in which the workers' tensors are summed if they share one memory.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "common/protocol/call.hh"
#include "trainer/collectives/sparse_block.hh"

namespace thinpipe::trainer {

// Adds the tensors of workers `from` to that of worker `into`.
struct Sum {
  int into = 0;
  std::vector<int> from;
};

// In order of execution; the last sum is the result.
using Sums = std::vector<Sum>;

Sums sums_by_rank(int world_size);

// Returns the sums along a tree: children, ascending, before their parents. Throws Error unless `parents`,
// with -1 for the root, is a tree.
Sums sums_along(const std::vector<int>& parents);

// tree_sparse_all_reduce (pipelined.hh) for all workers in one memory, block by block: the same bits, and the
// bytes that its edges would carry.
class SparseSums {
 public:
  // One worker's vector and the indices of its entries, ascending.
  struct Entries {
    std::span<float> vector;
    std::span<const std::uint32_t> indices;
  };

  // sums: along a tree. workers: at least one, with vectors of the same size. bytes: two per worker, to which
  // the bytes up to its parent and down from it are added. The caller keeps all of them alive.
  SparseSums(const Sums& sums, std::vector<Entries> workers, std::span<std::int64_t> bytes);

  std::size_t blocks() const { return blocks_.count(); }

  // Sums a block for all workers. Call once per block.
  void sum(std::size_t block);

 private:
  using Bits = std::array<std::uint64_t, sparse_block_words>;

  Bits own_entries(std::size_t worker, std::size_t block) const;

  const Sums& sums_;
  std::vector<Entries> workers_;
  Blocks blocks_;
  std::span<std::int64_t> bytes_;
};

// Returns the bytes on the edges of worker `rank`, in ascending order of neighbour.
std::vector<EdgeBytes> edges_of(int rank, const Sums& sums, std::span<const std::int64_t> bytes);

}  // namespace thinpipe::trainer
