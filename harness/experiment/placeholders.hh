// SPDX-License-Identifier: Apache-2.0
// Texts with {placeholders}, such as the arguments of a training command. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/support/exception.hh"

namespace thinpipe {

// Returns the text with each {name} replaced by its value; {{ and }} stand for braces. Throws InputError at
// `place`, with the nearest known name, if a name is unknown or a brace has no partner.
std::string fill_placeholders(std::string_view text, const std::map<std::string, std::string>& values,
                              const Place& place);

}  // namespace thinpipe
