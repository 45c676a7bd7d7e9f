// SPDX-License-Identifier: Apache-2.0
// LibTorch's tensors, and the parts of the standard library that every file of the trainer uses. Code that
// needs modules, optimisers or autograd includes trainer/base/modules.hh; both headers are precompiled.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <torch/types.h>
