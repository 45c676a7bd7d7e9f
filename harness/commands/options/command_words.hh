// SPDX-License-Identifier: Apache-2.0
// The user's command on the command line, after "--".
#pragma once

#include <string>
#include <vector>

namespace thinpipe {

// Returns the words after the first "--" of `arguments`, unchanged. `program`: "thinpipe shell"; `parsed`: the
// positional words that CLI11 took for the command; `example`: a whole command line for the message. Throws
// InputError if there is no "--", or nothing after it.
std::vector<std::string> command_words(const std::string& program, const std::vector<std::string>& parsed,
                                       const std::vector<std::string>& arguments, const std::string& example);

}  // namespace thinpipe
