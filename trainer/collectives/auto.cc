// The "auto" backend: whichever of "island" and "ring" loads the network less. The harness knows, and names
// workers' parents in a tree only where that is the tree.
#include "trainer/collectives/island.hh"
#include "trainer/collectives/ring.hh"

namespace thinpipe::trainer {
namespace {

THINPIPE_REGISTER(Collective){
    "auto", "TCP: as island where its tree takes less time over the network than a ring, else as ring",
    describe_options<GlooOptions>(), [](JsonObject& options, const Membership& membership) {
      const auto gloo_options = read_options<GlooOptions>(options);
      return membership.parents.empty() ? make_ring(gloo_options, membership)
                                        : make_island(gloo_options, membership);
    }};

}  // namespace
}  // namespace thinpipe::trainer
