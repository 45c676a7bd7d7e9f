// SPDX-License-Identifier: Apache-2.0
// The "nccl" backend: NVIDIA's library among the workers' GPUs, over TCP between the workers' addresses. Workers
// that are processes of their own may share a GPU.
#pragma once

#include <optional>
#include <string>

#include "trainer/collectives/backends/gloo.hh"
#include "trainer/collectives/backends/nccl/nccl_group.hh"

namespace thinpipe::trainer {

struct NcclOptions {
  double timeout_s = GlooOptions{}.timeout_s;
  std::string all_reduce = "ring";

  void visit(auto& field) {
    field("timeout", timeout_s,
          Rule{.effect = "maximum wait for the other workers: to connect, and for each collective",
               .quantity = Quantity::duration,
               .at_least = 0.001});
    field("all_reduce", all_reduce,
          Rule{.effect = "ring: NCCL's own; tree: sends and receives along island's reduction tree, summed "
                         "in its order",
               .one_of = {"ring", "tree"}});
  }
};

// Connects to all other workers, by Gloo first. Throws CollectiveError.
std::unique_ptr<Collective> make_nccl(const NcclOptions& options, const GroupOptions& group_options);

// Creates the backend over a given group. `gloo` carries PointToPoint objects and barriers. parents: the
// reduction tree; if empty, NCCL's ring sums.
std::unique_ptr<Collective> make_nccl(std::unique_ptr<Collective> gloo, std::unique_ptr<NcclGroup> group,
                                      double timeout_s, std::vector<int> parents = {});

// Returns why workers on this machine cannot use NCCL, and the remedy; nullopt if they can.
std::optional<std::string> obstacle_to_nccl();

}  // namespace thinpipe::trainer
