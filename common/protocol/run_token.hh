// SPDX-License-Identifier: Apache-2.0
// The secret by which the workers of one launch know each other on a real network. The controller makes it and passes it
// through the environment, never through arguments, files or logs.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>

namespace thinpipe {

inline constexpr const char* run_token_variable = "THINPIPE_RUN_TOKEN";

using RunToken = std::array<std::byte, 16>;

RunToken random_run_token();

// Returns the token in hexadecimal digits, as the variable has it.
std::string text_of(const RunToken& token);

// Returns the token of this process's environment; nullopt if it has none. Throws Error, without the text, if that is no
// token.
std::optional<RunToken> run_token_of_environment();

}  // namespace thinpipe
