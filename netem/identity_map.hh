// Which users and groups exist inside a new user namespace.
#pragma once

#include <sys/types.h>

namespace thinpipe::netem {

// Gives the user namespace of `child` its users. An ordinary caller becomes user 0 inside and is alone there.
// Root keeps everyone under their own numbers, so that files of other users stay as usable as they were.
// Throws SystemError.
void map_identities(pid_t child);

}  // namespace thinpipe::netem
