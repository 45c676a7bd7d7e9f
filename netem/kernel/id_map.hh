// SPDX-License-Identifier: Apache-2.0
// The users and groups inside a new user namespace.
#pragma once

#include <sys/types.h>

namespace thinpipe::netem {

// Maps users and groups into the user namespace of `child`. An ordinary caller becomes user 0 and is the only
// user. If the caller is root, all users keep their own numbers, so that their files stay as usable as
// before. Throws SystemError.
void write_id_maps(pid_t child);

}  // namespace thinpipe::netem
