// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/conformance/promise.hh"

#include <algorithm>

namespace thinpipe::trainer {

const std::vector<PromiseText>& promise_texts() {
  static const std::vector<PromiseText> texts = {
      {.promise = Promise::runs,
       .key = "runs",
       .name = "runs to the end",
       .meaning = "Every step ends, and all workers make the same collective calls in the same order.",
       .consequence = "A run would fail, or hang until its time limit.",
       .remedy =
           "Call collectives on every worker, with sizes that do not depend on the rank or on one worker's "
           "data; sizes that may differ need all_gather_any."},
      {.promise = Promise::same_bits,
       .key = "same_bits",
       .name = "same result on every worker",
       .meaning = "After synchronise(), bucket.gradient has the same bits on every worker.",
       .consequence = "The workers' models drift apart, and the accuracy of one of them means nothing.",
       .remedy =
           "Compute the result only from what all workers have received, in the same order everywhere: not from "
           "the rank, the worker's own gradient or an unseeded random generator."},
      {.promise = Promise::any_bucket,
       .key = "any_bucket",
       .name = "works for any bucket",
       .meaning = "Buckets of any size and layout get a finite result of their own size.",
       .consequence = "Training fails or diverges with another model, bucket size or number of workers.",
       .remedy =
           "Handle a bucket of one entry, and fewer entries than workers: max(1, ...) for counts, and no "
           "division by a norm or scale that may be zero."},
      {.promise = Promise::claimed_bytes,
       .key = "claimed_bytes",
       .name = "sends the bytes it states",
       .meaning = "traffic() returns the bytes that a worker passes to collectives, or an upper bound if "
                  "properties.traffic_depends_on_data.",
       .consequence =
           "Plans, bounds and the choice of bucket sizes would count other bytes than the network carries.",
       .remedy =
           "Count every tensor that is passed to a collective, indices, scales and sizes too (all_gather_any "
           "sends 4 bytes of size), or leave traffic() out."},
      {.promise = Promise::zero,
       .key = "zero",
       .name = "zero stays zero",
       .meaning = "If every worker's gradient is zero, so is the result.",
       .consequence = "Weights move although no data asks for it, and training cannot come to rest.",
       .remedy =
           "Handle a scale of zero, and send 0 for 0: a sign bit alone turns 0 into +1 or -1 times the scale."},
      {.promise = Promise::nan_seen,
       .key = "nan_seen",
       .name = "a NaN reaches every worker",
       .meaning = "If one worker's gradient has a NaN or infinity, the result is not finite on any worker.",
       .consequence =
           "One worker skips a step that the others apply, or a broken gradient is applied unnoticed.",
       .remedy =
           "Do not remove NaN (nan_to_num, comparisons that are false for NaN, casts to integers); send a scale or "
           "norm that becomes NaN."},
      {.promise = Promise::skipped_step,
       .key = "skipped_step",
       .name = "a skipped step leaves no trace",
       .meaning = "After finish_step(applied=False), the state is what it was before the step.",
       .consequence = "A single NaN stays in the state, and every later step is NaN or wrong.",
       .remedy =
           "Keep state in thinpipe.State or thinpipe.Residual and change it with stage(); or change it only in "
           "finish_step(True)."},
      {.promise = Promise::reproducible,
       .key = "reproducible",
       .name = "same seed, same result",
       .meaning = "A second object of the method, with the same seed and gradients, gives the same bits.",
       .consequence = "Runs cannot be repeated, replayed or compared.",
       .remedy =
           "Draw random numbers from a generator that is seeded with context.seed and the step; keep no state in "
           "the class or module."},
      {.promise = Promise::checkpoint,
       .key = "checkpoint",
       .name = "same result after a checkpoint",
       .meaning = "An object that loads another's state_dict() continues with the same bits.",
       .consequence = "A run that restarts from a checkpoint silently trains differently.",
       .remedy = "Keep state in thinpipe.State, or return all of it from state_dict() and restore it in "
                 "load_state_dict()."},
      {.promise = Promise::pruned,
       .key = "pruned",
       .name = "pruned weights stay zero",
       .meaning = "The result and the residual are zero at pruned entries, also after the mask has changed.",
       .consequence = "Pruned weights move off zero: the model is no longer sparse.",
       .remedy =
           "Add nothing to entries whose gradient is zero, or multiply by context.kept; in adopt_masks(), drop the "
           "state of pruned entries."},
      {.promise = Promise::side_bucket,
       .key = "side_bucket",
       .name = "dense parameters are untouched",
       .meaning = "Parameters that leaves_dense() names keep the mean over workers.",
       .consequence =
           "Biases and normalisation layers are trained with another gradient than the method claims.",
       .remedy = "Change only what synchronise() is given."},
      {.promise = Promise::mean,
       .key = "mean",
       .name = "gives the mean",
       .meaning =
           "The result is the mean over workers, up to properties.relative_rounding (estimate \"exact\" or "
           "\"rounded\").",
       .consequence =
           "The learning rate is off by a factor, or accuracy is lost to rounding that nobody expects.",
       .remedy = "Divide the sum by net.world_size, once; state the rounding of a narrower format in "
                 "properties.relative_rounding; or state another estimate in properties."},
      {.promise = Promise::only_sums,
       .key = "only_sums",
       .name = "only sums travel",
       .meaning = "The method calls only reductions and broadcasts (properties.all_reduce_compatible).",
       .consequence = "Plans assume all-reduce traffic, which does not grow with the number of workers.",
       .remedy = "Exchange with all_reduce, or set all_reduce_compatible to False."},
      {.promise = Promise::unbiased,
       .key = "unbiased",
       .name = "unbiased",
       .meaning = "The mean of many draws is the mean over workers (estimate \"unbiased\").",
       .consequence = "Errors add up over steps instead of averaging out.",
       .remedy =
           "Round up with a probability equal to the remainder, and use another random number for each entry, step "
           "and worker; or state the estimate \"biased\"."},
      {.promise = Promise::nothing_lost,
       .key = "nothing_lost",
       .name = "nothing is lost",
       .meaning = "What a worker does not send stays in its residual (estimate \"error_feedback\").",
       .consequence = "Small gradients never arrive, and the model converges to a worse accuracy.",
       .remedy =
           "Stage the accumulated gradient minus exactly what was sent, per parameter; add the residual before "
           "choosing what to send."},
  };
  return texts;
}

const PromiseText& text_of(Promise promise) {
  return *std::ranges::find(promise_texts(), promise, &PromiseText::promise);
}

}  // namespace thinpipe::trainer
