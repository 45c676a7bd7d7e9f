// Answers for the controller, which has no LibTorch: is a configuration valid, what is it with every default
// filled in, what will it cost; and what is there to choose from.
#pragma once

#include "harness/support/json_object.hh"

namespace thinpipe::trainer {

// configurations: an array of training configurations as users write them. One answer each:
//   {"ok": true, "config": {…normalised…}, "plan": {…}, "content": {…}, "missing": […]}   or
//   {"ok": false, "pointer": "/model/width", "message": "…"}
// plan: parameters, gradient_bytes, bucket_bytes (of the gradient, by bucket, in the order of their
// exchange), iterations, evaluations, all_reduce_compatible (see Promises), payload_bytes_per_iteration,
// sent_bytes_per_iteration (of one worker, by formula), pairwise_bytes_per_iteration (of these). content:
// hashes of what the paths in the configuration lead to, each under the pointer to its path, such as
// "/dataset/directory"; null if the file is missing. missing: the GPU, data or weights that this machine
// lacks, each as {"pointer", "message"}. plan is null if it cannot be made without them.
Json check_configurations(const Json& configurations);

// Every registry with each entry's summary and options, the keys of the configuration itself
// (describe_training_config), the number of CUDA devices that LibTorch sees, and the versions of the
// libraries in use.
Json describe();

}  // namespace thinpipe::trainer
