// SPDX-License-Identifier: Apache-2.0
// Tensors whose elements lie in memory that something else owns, such as a mapped file.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {

// Returns a tensor of the elements from `begin` on in `memory`, which `owner` keeps alive and nobody may
// write to. If they are not aligned for their type, returns a copy. Throws Error if they are not inside
// `memory`.
torch::Tensor elements_in(const std::shared_ptr<const void>& owner, std::span<const char> memory,
                          std::uint64_t begin, const std::vector<std::int64_t>& shape,
                          torch::ScalarType type);

}  // namespace thinpipe::trainer
