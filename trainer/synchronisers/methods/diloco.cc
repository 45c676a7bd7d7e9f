// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/outer_optimiser.hh"

namespace thinpipe::trainer {
namespace {

// The paper has local_steps 500, for runs of many thousands of steps; a short training run exchanges only a few times.
struct DilocoOptions : OuterOptions {
  std::int64_t local_steps = 20;

  void visit(auto& field) {
    field("local_steps", local_steps,
          Rule{.effect = "steps of each worker's own optimiser between two exchanges", .at_least = 1});
    OuterOptions::visit(field);
  }
};

THINPIPE_REGISTER(Synchroniser){
    "diloco", "DiLoCo: many local steps, then an outer optimiser on the mean weight change",
    describe_options<DilocoOptions>(), [](JsonObject& object, const SynchroniserContext& context) {
      const auto options = read_options<DilocoOptions>(object);
      return std::make_unique<OuterOptimiser>(options,
                                              OuterOptimiser::Rounds{.local_steps = options.local_steps},
                                              "diloco", object.place_of("inner"), context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
