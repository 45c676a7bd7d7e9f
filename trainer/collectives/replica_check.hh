// SPDX-License-Identifier: Apache-2.0
// Proof that the workers' state is still the same: all workers compare hashes.
#pragma once

#include "trainer/collectives/collective.hh"

// Declared here so that methods need not include all of torch's modules.
namespace torch::nn {
class Module;
}

namespace thinpipe::trainer {

// The workers' state differs although it must be the same: a fault of the program or machine,
// never of the input.
class DivergenceError : public Error {
 public:
  using Error::Error;
};

// Returns xxh3-64 of the tensor's bytes.
std::uint64_t tensor_hash(const torch::Tensor& tensor);

// Returns one hash of the names, shapes and values of all parameters.
std::uint64_t parameters_hash(const torch::nn::Module& model);

// Throws DivergenceError on every worker if hashes differ, naming the ranks that differ from
// rank 0. Collective.
void check_replicas(std::string_view what, std::uint64_t hash, Collective& collective);

// Does the same for all parameters of a model; the error also names the first tensor that
// differs. Collective.
void check_parameter_replicas(const torch::nn::Module& model, Collective& collective);

}  // namespace thinpipe::trainer
