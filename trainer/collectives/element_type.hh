// Element types as traces of communication name them, and as LibTorch does.
#pragma once

#include "harness/replay/call.hh"
#include "trainer/tensors.hh"

namespace thinpipe::trainer {

// Throws Error for a type that no trace knows.
ElementType element_type_of(const torch::Tensor& tensor);
torch::ScalarType scalar_type_of(ElementType type);

}  // namespace thinpipe::trainer
