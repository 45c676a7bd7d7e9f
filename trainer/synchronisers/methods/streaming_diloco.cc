// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "trainer/synchronisers/outer_optimiser.hh"

namespace thinpipe::trainer {
namespace {

struct StreamingDilocoOptions : OuterOptions {
  std::int64_t local_steps = 20;
  FragmentSchedule fragments = {.count = 2, .overlap_steps = 2, .mixing = 0.5};

  void visit(auto& field) {
    field("local_steps", local_steps,
          Rule{.effect = "steps of each worker's own optimiser between two exchanges of a fragment",
               .at_least = 1});
    field("fragments", fragments.count,
          Rule{.effect = "parts of the model that are exchanged in turn; local_steps is a multiple of it",
               .at_least = 1});
    field("overlap_steps", fragments.overlap_steps,
          Rule{.effect =
                   "steps that workers take while an exchange is under way; at most local_steps / fragments",
               .at_least = 0});
    field("mixing", fragments.mixing,
          Rule{.effect = "share of its own weights that a worker keeps when it applies a result",
               .at_least = 0,
               .below = 1});
    OuterOptions::visit(field);
  }
};

void check_fragments(const JsonObject& object, const StreamingDilocoOptions& options) {
  const auto [count, overlap_steps, mixing] = options.fragments;
  if (options.local_steps % count != 0) {
    throw InputError(
        object.place_of("local_steps"),
        fmt::format("must be a multiple of fragments, which is {}, so that exchanges are equally far apart, "
                    "but is {}",
                    count, options.local_steps));
  }
  const std::int64_t interval = options.local_steps / count;
  if (overlap_steps > interval) {
    throw InputError(
        object.place_of("overlap_steps"),
        fmt::format("must be at most {}, the steps from one fragment's exchange to the next one's "
                    "(local_steps / fragments), but is {}",
                    interval, overlap_steps));
  }
}

// DiLoCo whose exchanges take turns and hide behind compute: layers form fragments, which are exchanged at different times;
// a result is applied some steps after its exchange began, and mixed with the weights to which the worker has come
// meanwhile (FragmentSchedule). So the peak of the traffic is a fragment's, and compute hides it. The paper has
// 100 local steps, overlap_steps 1 to 10 and changes coded in 4 bits. Douillard et al., Streaming DiLoCo with overlapping
// communication: Towards a Distributed Free Lunch (2025).
THINPIPE_REGISTER(Synchroniser){
    "streaming_diloco", "Streaming DiLoCo: DiLoCo by layers, whose exchanges overlap with later steps",
    describe_options<StreamingDilocoOptions>(), [](JsonObject& object, const SynchroniserContext& context) {
      const auto options = read_options<StreamingDilocoOptions>(object);
      check_fragments(object, options);
      return std::make_unique<OuterOptimiser>(
          options, OuterOptimiser::Rounds{.local_steps = options.local_steps, .fragments = options.fragments},
          "streaming_diloco", object.place_of("inner"), context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
