// SPDX-License-Identifier: Apache-2.0
// Generates the JSON Schema of experiment files for editors; the build writes it to experiment.schema.json. It
// checks single values. The program checks bounds of quantities and rules over several values, such as a batch that
// is larger than the data or a name that a sweep replaces.
#pragma once

#include "harness/schema/option_schema.hh"

namespace thinpipe {

// Returns the schema. `trainer`: the trainer's description (TrainerProgram::describe).
OrderedJson experiment_schema(const Json& trainer);

}  // namespace thinpipe
