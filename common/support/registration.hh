// SPDX-License-Identifier: Apache-2.0
// Registers an implementation from its own file by a static object, which needs no name:
//
//   THINPIPE_REGISTER(Synchroniser){"topk", "the largest entries ...", ...};
//
// constructs a SynchroniserRegistration. The file must be linked from an OBJECT library, or the linker drops
// it together with its registration.
#pragma once

#define THINPIPE_JOIN_EXPANDED(first, second) first##second
#define THINPIPE_JOIN(first, second) THINPIPE_JOIN_EXPANDED(first, second)
#define THINPIPE_REGISTER(kind) const kind##Registration THINPIPE_JOIN(registration_, __COUNTER__)
