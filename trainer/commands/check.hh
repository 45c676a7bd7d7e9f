// SPDX-License-Identifier: Apache-2.0
// Answers for the controller, which has no LibTorch: whether a configuration is valid, its form with all
// defaults, and its cost.
#pragma once

#include <iosfwd>

#include "common/support/json_object.hh"

namespace thinpipe::trainer {

// configurations: an array of training configurations as users write them. Returns one answer for each:
//   {"ok": true, "config": {…normalised…}, "plan": {…}, "content": {…}, "missing": […]}   or
//   {"ok": false, "pointer": "/model/width", "message": "…"}
// plan: parameters, gradient_bytes, bucket_bytes (gradient bytes by bucket, in the order of exchange),
//   iterations, evaluations, all_reduce_compatible (see MethodProperties), payload_bytes_per_iteration,
//   sent_bytes_per_iteration (of one worker, by formula), pairwise_bytes_per_iteration (a part of these),
//   delivered_bytes_per_iteration (to one worker).
//   Null if it cannot be made without missing data or weights.
// content: hashes of the data that paths in the configuration lead to, each under the pointer to its path,
//   such as "/dataset/directory", and of data from Python, as "/dataset/content"; null if the file is missing.
// missing: the GPU, data or weights that this machine lacks, each as {"pointer", "message"}.
Json check_configurations(const Json& configurations);

// Reads a configuration from each line and writes its answer, as above, in one line before it reads the next.
// Data, and the last model and its mask, are kept in between.
void check_lines(std::istream& in, std::ostream& out);

}  // namespace thinpipe::trainer
