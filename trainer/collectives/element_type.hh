// SPDX-License-Identifier: Apache-2.0
// Converts LibTorch's element types to those in communication traces.
#pragma once

#include "common/protocol/call.hh"
#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

// Throws Error for a type that traces do not support.
ElementType element_type_of(const torch::Tensor& tensor);
torch::ScalarType scalar_type_of(ElementType type);

}  // namespace thinpipe::trainer
