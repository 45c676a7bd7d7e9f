// The JSON Schema of experiment files, for editors: harness/schema/experiment.schema.json is what this makes.
// It judges every value where it stands; what takes more than one value to judge (a name that a sweep would
// replace, a batch larger than the data, the bounds of a quantity) is the program's to say.
#pragma once

#include "harness/schema/option_schema.hh"

namespace thinpipe {

// `trainer` is what the trainer describes (TrainerProgram::describe).
OrderedJson experiment_schema(const Json& trainer);

}  // namespace thinpipe
