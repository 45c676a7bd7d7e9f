// SPDX-License-Identifier: Apache-2.0
// The harness computes the reduction tree (netem/topology/reduction_tree.hh). Along it an all-reduce puts the
// vector once on each bottleneck in each direction, which is the lower bound for vectors without known
// structure. Sums of small integers are sent in as few bits as hold them. For vectors with few entries, only
// entries that some worker has are sent. An all-gather or a broadcast puts every block on each bottleneck
// once, in one direction.
#include "trainer/collectives/backends/island.hh"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "trainer/base/tensor_span.hh"
#include "trainer/collectives/arguments.hh"
#include "trainer/collectives/backends/streamed.hh"

namespace thinpipe::trainer {
namespace {

using Neighbours = std::vector<std::vector<int>>;  // of each rank, ascending

Neighbours neighbours_of(const std::vector<int>& parents) {
  Neighbours out(parents.size());
  for (std::size_t rank = 0; rank < parents.size(); ++rank) {
    if (parents[rank] < 0) continue;
    out[rank].push_back(parents[rank]);
    out.at(static_cast<std::size_t>(parents[rank])).push_back(static_cast<int>(rank));
  }
  for (std::vector<int>& ranks : out) std::ranges::sort(ranks);
  return out;
}

// Returns the ranks that are nearer to `through` than to its neighbour `rank`, in the order in which
// `through` sends their blocks: its own, then those of each other branch.
std::vector<std::size_t> ranks_behind(const Neighbours& neighbours, int through, int rank) {
  std::vector<std::size_t> out = {static_cast<std::size_t>(through)};
  for (const int next : neighbours[static_cast<std::size_t>(through)]) {
    if (next == rank) continue;
    const std::vector<std::size_t> behind = ranks_behind(neighbours, next, through);
    out.insert(out.end(), behind.begin(), behind.end());
  }
  return out;
}

class IslandCollective : public StreamedCollective {
 public:
  IslandCollective(const GlooOptions& options, const GroupOptions& group_options)
      : IslandCollective(options, group_options, group_options.reduction_tree_or_binary()) {}

  void all_reduce_quantised(torch::Tensor codes, int largest, const CodeChunks& chunks) override {
    const std::string call = describe_all_reduce(codes, Reduction::sum);
    check_codes(call, codes, largest, world_size());
    attempt(call, [&] {
      tree_all_reduce_quantised(elements<std::int8_t>(codes), largest, chunks, branches_, timeout_s());
    });
  }

  double all_reduce_quantised_sent_bytes(std::int64_t codes, int largest) const override {
    return tree_all_reduce_quantised_sent_bytes(codes, largest, parents_);
  }

  bool has_sparse_all_reduce() const override { return true; }

  std::vector<EdgeBytes> sparse_all_reduce(torch::Tensor tensor,
                                           std::span<const std::uint32_t> indices) override {
    const std::string call = describe_sparse_all_reduce(tensor);
    check_indices(call, tensor, indices);
    std::vector<EdgeBytes> edges;
    attempt(call, [&] { edges = tree_sparse_all_reduce(floats(tensor), indices, tree_, timeout_s()); });
    return edges;
  }

  void replay_sparse_all_reduce(const SparseAllReduceCall& call) override {
    attempt(fmt::format("replay a sparse_all_reduce of {}", call.elements), [&] {
      replay_tree_sparse_all_reduce(static_cast<std::size_t>(call.elements), call.edges, tree_, timeout_s());
    });
  }

  // An all-gather to which only the root contributes.
  void broadcast(torch::Tensor tensor, int root) override {
    const std::string call = describe_broadcast(tensor, root);
    check_tensor(call, tensor);
    check_root(call, root, world_size());
    if (world_size() == 1) return;
    std::vector<std::size_t> block_bytes(static_cast<std::size_t>(world_size()), 0);
    block_bytes[static_cast<std::size_t>(root)] = tensor.nbytes();
    attempt(call, [&] { stream_all_gather(bytes_of(tensor), block_bytes); });
  }

 private:
  IslandCollective(const GlooOptions& options, const GroupOptions& group_options,
                   const std::vector<int>& parents)
      : IslandCollective(options, group_options, parents, neighbours_of(parents)) {}

  IslandCollective(const GlooOptions& options, const GroupOptions& group_options,
                   const std::vector<int>& parents, const Neighbours& neighbours)
      : StreamedCollective(options, group_options, neighbours[static_cast<std::size_t>(group_options.rank)]),
        parents_(parents) {
    const int parent = parents_[static_cast<std::size_t>(group_options.rank)];
    for (const int neighbour : neighbours[static_cast<std::size_t>(group_options.rank)]) {
      branches_.push_back(
          {.peer = &peer(neighbour), .ranks = ranks_behind(neighbours, neighbour, group_options.rank)});
      if (neighbour == parent) {
        tree_.parent = &peer(neighbour);
      } else {
        tree_.children.push_back(&peer(neighbour));
      }
    }
  }

  void stream_all_reduce(const Reducible& vector) override { tree_all_reduce(vector, tree_, timeout_s()); }

  void stream_all_gather(std::span<std::byte> bytes, std::span<const std::size_t> block_bytes) override {
    tree_all_gather(bytes, block_bytes, static_cast<std::size_t>(rank()), branches_, timeout_s());
  }

  std::vector<int> parents_;
  TreeNeighbours tree_;
  std::vector<Branch> branches_;
};

THINPIPE_REGISTER(Collective){
    "island", "TCP: streams along a reduction tree that crosses each bottleneck once; the rest as in gloo",
    describe_options<GlooOptions>(), [](JsonObject& options, const GroupOptions& group_options) {
      return make_island(read_options<GlooOptions>(options), group_options);
    }};

}  // namespace

std::unique_ptr<Collective> make_island(const GlooOptions& options, const GroupOptions& group_options) {
  return std::make_unique<IslandCollective>(options, group_options);
}

}  // namespace thinpipe::trainer
