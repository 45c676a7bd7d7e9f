// SPDX-License-Identifier: Apache-2.0
// The commands of the stand-in for thinpipe-trainer. All return exit codes.
#pragma once

#include "common/support/json_object.hh"

namespace thinpipe::fake {

int check();
int check_hook();
int describe();
int cost();
int pretrain(const char* path);
int work(const char* path);

// Shared by the last two: prints an event, and waits.
void emit(const Json& event);
void sleep_for(double seconds);

}  // namespace thinpipe::fake
