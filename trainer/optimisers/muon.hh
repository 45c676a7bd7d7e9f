// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/base/modules.hh"

namespace thinpipe::trainer {

// Returns a matrix with about the singular vectors of `matrix`, float [rows, columns], and singular values near 1:
// between about 0.7 and 1.2 for those above a thousandth of its Frobenius norm.
torch::Tensor orthogonalised(const torch::Tensor& matrix);

}  // namespace thinpipe::trainer
