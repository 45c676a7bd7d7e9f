// SPDX-License-Identifier: Apache-2.0
// The promises that the conformance suite examines, in words for the authors of methods.
#pragma once

#include <vector>

namespace thinpipe::trainer {

enum class Promise {
  runs,
  same_bits,
  any_bucket,
  claimed_bytes,
  zero,
  nan_seen,
  skipped_step,
  reproducible,
  checkpoint,
  pruned,
  side_bucket,
  mean,
  only_sums,
  unbiased,
  nothing_lost,
};

struct PromiseText {
  Promise promise;
  const char* key;          // in JSON
  const char* name;         // in tables
  const char* meaning;      // one sentence
  const char* consequence;  // what goes wrong in training if a method breaks it
  const char* remedy;       // the usual cause, and what to do about it
};

// All promises, in the order of tables.
const std::vector<PromiseText>& promise_texts();

const PromiseText& text_of(Promise promise);

}  // namespace thinpipe::trainer
