// SPDX-License-Identifier: Apache-2.0
// The types of the values that --set overrides, from the descriptions of the controller's and the trainer's
// keys.
#pragma once

#include <functional>

#include "harness/experiment/override.hh"

namespace thinpipe {

// `describe_trainer` returns the trainer's description (TrainerProgram::describe). It is called once, and only
// for a key that the controller does not read itself: a process of the trainer takes a moment.
IsText described_text(std::function<Json()> describe_trainer);

// Has the trainer that TrainerProgram::find() finds describe its keys.
IsText described_text();

}  // namespace thinpipe
