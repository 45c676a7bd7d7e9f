// The "nccl" backend: NVIDIA's library among GPUs, one for each worker, over TCP between the workers'
// addresses.
#pragma once

#include <optional>
#include <string>

#include "trainer/collectives/gloo.hh"
#include "trainer/collectives/nccl/nccl_group.hh"

namespace thinpipe::trainer {

struct NcclOptions {
  double timeout_s = GlooOptions{}.timeout_s;
  std::string all_reduce = "ring";

  void visit(auto& field) {
    field("timeout", timeout_s,
          Rule{.effect = "longest wait for the others: to connect, and for each collective",
               .quantity = Quantity::duration,
               .at_least = 0.001});
    field("all_reduce", all_reduce,
          Rule{.effect =
                   "ring: NCCL's own; tree: sends and receives along island's tree, with its order of sums",
               .one_of = {"ring", "tree"}});
  }
};

// Connects with all other workers, by Gloo first. Throws CollectiveError.
std::unique_ptr<Collective> make_nccl(const NcclOptions& options, const Membership& membership);

// The same over a group of one's own. `gloo` is asked for what is not NCCL's: mailboxes and barriers.
// parents: of the tree that sums go along; empty: NCCL's ring.
std::unique_ptr<Collective> make_nccl(std::unique_ptr<Collective> gloo, std::unique_ptr<NcclGroup> group,
                                      double timeout_s, std::vector<int> parents = {});

// Why so many workers on this machine cannot use it, and what they can; nothing: they can.
std::optional<std::string> obstacle_to_nccl(std::int64_t workers);

}  // namespace thinpipe::trainer
