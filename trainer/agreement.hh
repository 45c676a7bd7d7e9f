// Proof that the workers have not come apart: hashes compared among all of them.
#pragma once

#include "trainer/collectives/collective.hh"

// Declared here, so that methods need not include all modules.
namespace torch::nn {
class Module;
}

namespace thinpipe::trainer {

// The workers differ where they must not: a fault of the program or of the machine, never of the input.
class DivergenceError : public Error {
 public:
  using Error::Error;
};

// xxh3-64 of the tensor's bytes.
std::uint64_t tensor_hash(const torch::Tensor& tensor);

// One hash over names, shapes and values of all parameters.
std::uint64_t parameters_hash(const torch::nn::Module& model);

// Collective. Throws DivergenceError naming the ranks that differ from rank 0, on every worker alike.
void check_agreement(std::string_view what, std::uint64_t hash, Collective& collective);

// Collective. The same for all parameters of a model; the error also names the first tensor that differs.
void check_parameters_agree(const torch::nn::Module& model, Collective& collective);

}  // namespace thinpipe::trainer
