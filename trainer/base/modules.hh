// SPDX-License-Identifier: Apache-2.0
// LibTorch's modules, optimisers and autograd, on top of its tensors.
#pragma once

#include <torch/autograd.h>
#include <torch/nn.h>
#include <torch/optim.h>

#include "trainer/base/tensors.hh"
