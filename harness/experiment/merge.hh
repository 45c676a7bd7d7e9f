// Patching JSON documents: how a sweep's labels and --set change the base configuration.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe {

// RFC 7396 merge patch, except that an object whose "name" differs from the target's replaces it whole, as
// the options of one method mean nothing to another; and that comments are left behind.
void merge(Json& target, const Json& patch);

// {"a": {"b": value}} for the keys a, b.
Json nested(const std::vector<std::string>& keys, const Json& value);

// "bottleneck.rate" as its keys; nothing when a key is empty.
std::optional<std::vector<std::string>> split_path(std::string_view dotted);

// The keys of a JSON pointer, unescaped.
std::vector<std::string> pointer_keys(std::string_view pointer);

}  // namespace thinpipe
