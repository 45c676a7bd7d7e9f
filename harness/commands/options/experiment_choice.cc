// SPDX-License-Identifier: Apache-2.0
#include "harness/commands/options/experiment_choice.hh"

#include <filesystem>

#include "harness/experiment/bundled_files.hh"
#include "harness/schema/override_types.hh"

namespace thinpipe {
namespace {

// Returns a file of the user's, or else the shipped experiment of this name.
std::string file_of(const std::string& name) {
  const std::filesystem::path path = name;
  if (path.has_extension() || path.has_parent_path() || std::filesystem::exists(path)) return name;
  return bundled_experiments().find(name, {}, {name, ""}).string();
}

}  // namespace

void ExperimentChoice::add_to(CLI::App& command) {
  command
      .add_option("experiment", file,
                  "The experiment's file, or the name of a shipped one (thinpipe list experiments)")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--set", overrides, "Change the base configuration, for example workers=4; may be repeated")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--repeat", repeat,
                  "Run each point with this many seeds, instead of the experiment's own \"repeat\"")
      ->check(CLI::Range(std::int64_t{1}, static_cast<std::int64_t>(max_sweep_runs)))
      ->type_name("N");
  command.add_option("--only", only, "Only runs whose label, as a whole or on one axis, matches the pattern")
      ->type_name("GLOB");
}

Experiment ExperimentChoice::load() const {
  return load_experiment(file_of(file), overrides, described_text(), repeat);
}

}  // namespace thinpipe
