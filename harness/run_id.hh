// Names of things by their content: xxh3-64, as 16 hexadecimal digits.
#pragma once

#include <string>
#include <string_view>

#include "harness/support/json_object.hh"

namespace thinpipe {

std::string content_hash(std::string_view bytes);

// The identity of a run: a hash of its normalised configuration alone. The order of keys does not matter, nor
// do the topology's name and description and the name of a trace's file, which decide nothing.
std::string run_id(const Json& normalised_config);

}  // namespace thinpipe
