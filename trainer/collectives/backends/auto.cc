// SPDX-License-Identifier: Apache-2.0
// The "auto" backend, for workers that are started by hand: "island" if they are given a reduction tree, else
// "ring". The harness decides when it plans a run, and passes its workers the name of their collective.
#include "trainer/collectives/backends/island.hh"
#include "trainer/collectives/backends/ring.hh"

namespace thinpipe::trainer {
namespace {

THINPIPE_REGISTER(Collective){
    "auto", "TCP: island if its reduction tree takes less time over the network than a ring, else ring",
    describe_options<GlooOptions>(), [](JsonObject& options, const GroupOptions& group_options) {
      const auto gloo_options = read_options<GlooOptions>(options);
      return group_options.reduction_tree.empty() ? make_ring(gloo_options, group_options)
                                                  : make_island(gloo_options, group_options);
    }};

}  // namespace
}  // namespace thinpipe::trainer
