// SPDX-License-Identifier: Apache-2.0
// Warns of workers that share a GPU. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/support/json_object.hh"

namespace thinpipe {

// `config`: the training configuration. gpus: number of this machine's. Returns nullopt if each worker has its own,
// or none needs one.
std::optional<std::string> warn_of_shared_gpus(const Json& config, std::int64_t gpus);

}  // namespace thinpipe
