// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/algorithms/tree_sums.hh"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/support/exception.hh"

namespace thinpipe::trainer {

Sums sums_by_rank(int world_size) {
  Sums out = {{.into = 0, .from = {}}};
  for (int rank = 1; rank < world_size; ++rank) out.push_back({.into = 0, .from = {rank}});
  return out;
}

Sums sums_along(const std::vector<int>& parents) {
  std::vector<std::vector<int>> children(parents.size());
  std::vector<int> order;
  for (std::size_t rank = 0; rank < parents.size(); ++rank) {
    std::vector<int>& siblings =
        parents[rank] < 0 ? order : children.at(static_cast<std::size_t>(parents[rank]));
    siblings.push_back(static_cast<int>(rank));
  }
  const std::size_t roots = order.size();
  Sums out;
  for (std::size_t next = 0; next < order.size(); ++next) {
    const std::vector<int>& from = children[static_cast<std::size_t>(order[next])];
    if (next == 0 || !from.empty()) out.push_back({.into = order[next], .from = from});
    std::ranges::copy(from, std::back_inserter(order));
  }
  if (roots != 1 || order.size() != parents.size()) {
    throw Error("a group's reduction tree must reach every worker from one root");
  }
  std::ranges::reverse(out);
  return out;
}

SparseSums::SparseSums(const Sums& sums, std::vector<Entries> workers, std::span<std::int64_t> bytes)
    : sums_(sums), workers_(std::move(workers)), blocks_{workers_.front().vector.size()}, bytes_(bytes) {}

void SparseSums::sum(std::size_t block) {
  const auto elements_of = [&](int worker) {
    return blocks_.of(workers_[static_cast<std::size_t>(worker)].vector, block);
  };
  std::vector<Bits> own;  // by worker
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    own.push_back(own_entries(w, block));
    for_each_entry(own[w], [&](std::size_t index) { elements_of(static_cast<int>(w))[index] += 0.0F; });
  }
  std::vector<Bits> below = own;  // of each worker and all workers below it
  for (const Sum& sum : sums_) {
    const std::span<float> into = elements_of(sum.into);
    for (const int child : sum.from) {
      const Bits& bits = below[static_cast<std::size_t>(child)];
      for_each_entry(bits, [&](std::size_t index) { into[index] += elements_of(child)[index]; });
      unite(below[static_cast<std::size_t>(sum.into)], bits);
    }
  }
  const auto bytes_of = [&](const Bits& bits) {
    return static_cast<std::int64_t>(sparse_block_bytes(blocks_.elements_of(block), entry_count(bits)));
  };
  std::vector<Bits> others(workers_.size());  // of all workers except each worker and those below it
  for (auto sum = sums_.rbegin(); sum != sums_.rend(); ++sum) {
    for (const int child : sum->from) {
      const auto c = static_cast<std::size_t>(child);
      others[c] = others[static_cast<std::size_t>(sum->into)];
      unite(others[c], own[static_cast<std::size_t>(sum->into)]);
      for (const int sibling : sum->from) {
        if (sibling != child) unite(others[c], below[static_cast<std::size_t>(sibling)]);
      }
      bytes_[2 * c] += bytes_of(below[c]);
      bytes_[2 * c + 1] += bytes_of(others[c]);
    }
  }
  const int whole = sums_.back().into;
  for (int worker = 0; std::cmp_less(worker, workers_.size()); ++worker) {
    if (worker != whole) std::ranges::copy(elements_of(whole), elements_of(worker).begin());
  }
}

SparseSums::Bits SparseSums::own_entries(std::size_t worker, std::size_t block) const {
  const std::span<const std::uint32_t> indices = workers_[worker].indices;
  const std::size_t begin = blocks_.begin_of(block);
  Bits bits{};
  for (auto index = std::ranges::lower_bound(indices, begin);
       index != indices.end() && *index < begin + blocks_.elements_of(block); ++index) {
    bits[(*index - begin) / 64] |= std::uint64_t{1} << (*index - begin) % 64;
  }
  return bits;
}

std::vector<EdgeBytes> edges_of(int rank, const Sums& sums, std::span<const std::int64_t> bytes) {
  std::vector<EdgeBytes> edges;
  for (const Sum& sum : sums) {
    for (const int child : sum.from) {
      const std::int64_t up = bytes[2 * static_cast<std::size_t>(child)];
      const std::int64_t down = bytes[2 * static_cast<std::size_t>(child) + 1];
      if (child == rank) edges.push_back({.neighbour = sum.into, .sent = up, .received = down});
      if (sum.into == rank) edges.push_back({.neighbour = child, .sent = down, .received = up});
    }
  }
  std::ranges::sort(edges);
  return edges;
}

}  // namespace thinpipe::trainer
