// SPDX-License-Identifier: Apache-2.0
// Patching JSON documents: how a sweep's labels and --set change the base configuration.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe {

// Applies an RFC 7396 merge patch, with two exceptions. An object with another "name" than the target's
// replaces it whole, because methods do not share options. Comments and "$schema" are not copied.
void merge(Json& target, const Json& patch);

// Returns {"a": {"b": value}} for the keys a, b.
Json nested(const std::vector<std::string>& keys, const Json& value);

// Returns the keys of a path such as "bottleneck.rate"; nullopt if a key is empty.
std::optional<std::vector<std::string>> split_path(std::string_view dotted);

// Returns the unescaped keys of a JSON pointer.
std::vector<std::string> pointer_keys(std::string_view pointer);

}  // namespace thinpipe
