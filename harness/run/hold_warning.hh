// SPDX-License-Identifier: Apache-2.0
// Warns of targets that a run could not have held, because it evaluated too rarely. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "common/support/json_object.hh"

namespace thinpipe {

// `config`: the training configuration. Returns nullopt if it has no targets, or enough evaluations.
std::optional<std::string> warn_of_few_evaluations(std::size_t evaluations, const Json& config);

}  // namespace thinpipe
