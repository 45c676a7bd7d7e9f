// SPDX-License-Identifier: Apache-2.0
// The fragments of a model, whose exchanges take turns (Synchroniser::fragments).
#pragma once

#include <vector>

#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {

// Returns the numbers of each fragment's parameters, ascending. A fragment has whole layers, and layer i is in fragment
// i mod count, so that fragments are about equally large if layers are. A layer is a block of a repeated kind, such as
// "blocks.3", or else a module with parameters. Throws InputError at `place` if the model has fewer layers.
std::vector<std::vector<std::size_t>> fragments_of(const std::vector<ParameterInfo>& parameters,
                                                   std::int64_t count, const Place& place);

// Returns the context of a method for these parameters only.
SynchroniserContext part_of(const SynchroniserContext& whole, const std::vector<std::size_t>& parameters);

}  // namespace thinpipe::trainer
