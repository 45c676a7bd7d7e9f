// SPDX-License-Identifier: Apache-2.0
// A training script as trainer: the identity of its runs, its command line, and its part of a configuration.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/plan/external_trainer.hh"
#include "harness/plan/trainer_program.hh"

namespace thinpipe {

// Throws InputError if the command has an unknown placeholder, an option has a name that a placeholder has, or
// a pattern of the curve is no regular expression.
void check_command(const ExternalTrainer& trainer, const Place& place);

// Returns the files that decide the results of the command's runs, as absolute paths: the script, and the files
// that match `inputs` or, by default, every Python file below the script's folder. The script is the first argument
// that names a file *.py, or else *.sh. Arguments are relative to `folder`, the experiment's, an absolute path. For
// "python3 -m NAME", the default is every Python file below `folder`. Throws InputError.
std::vector<std::filesystem::path> inputs_of_command(const ExternalTrainer& trainer,
                                                     const std::filesystem::path& folder, const Place& place);

// Returns the method's name; by default that of the script or, if there is none, of the command's program.
std::string method_of_command(const ExternalTrainer& trainer);

// Returns the "trainer" of a normalised configuration: the members that differ from their defaults, "method", and
// "inputs_hash", which identifies the inputs' content.
Json normalised_command(const ExternalTrainer& trainer, const std::string& inputs_hash);

// Returns the command line of a rank.
std::vector<std::string> arguments_of_command(const ExternalTrainer& trainer, std::int64_t rank,
                                              std::int64_t world_size, std::int64_t seed);

// Returns the training configuration of a command's run: "seed", "targets" and "hold". Nothing is known of its plan.
// Throws InputError for the keys of thinpipe-trainer, which would have no effect.
CheckedConfig training_of_command(const Json& trainers_part);

}  // namespace thinpipe
