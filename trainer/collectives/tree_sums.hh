// In which order workers' tensors are summed that lie in one memory.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/replay/call.hh"
#include "trainer/collectives/sparse_block.hh"

namespace thinpipe::trainer {

// Of the tensors of some workers, in that of another.
struct Sum {
  int into = 0;
  std::vector<int> from;
};

// In their order; the last one is the whole.
using Sums = std::vector<Sum>;

Sums sums_by_rank(int world_size);

// Children, ascending, before their parents. Throws Error for what is no tree: -1 is its root's parent.
Sums sums_along(const std::vector<int>& parents);

// tree_entry_sum (pipelined.hh) of all workers, block by block: the same bits, and the bytes that it would
// put on the edges.
class EntrySums {
 public:
  // One worker's: places ascend.
  struct Entries {
    std::span<float> vector;
    std::span<const std::uint32_t> places;
  };

  // sums: along a tree. workers: at least one, with vectors of one size. bytes: two of each worker, to which
  // is added what goes up from it to its parent and what comes down from there. All are the caller's.
  EntrySums(const Sums& sums, std::vector<Entries> workers, std::span<std::int64_t> bytes);

  std::size_t blocks() const { return blocks_.count(); }

  // Everyone's becomes the sum. In no block twice.
  void sum(std::size_t block);

 private:
  using Bits = std::array<std::uint64_t, sparse_block_words>;

  Bits own_entries(std::size_t worker, std::size_t block) const;

  const Sums& sums_;
  std::vector<Entries> workers_;
  Blocks blocks_;
  std::span<std::int64_t> bytes_;
};

// What these bytes are to worker `rank`, its neighbours ascending.
std::vector<EdgeBytes> edges_of(int rank, const Sums& sums, std::span<const std::int64_t> bytes);

}  // namespace thinpipe::trainer
