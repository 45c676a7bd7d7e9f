// SPDX-License-Identifier: Apache-2.0
// The options of `thinpipe run` that hand its runs to Slurm. An experiment may have them, too.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "harness/experiment/experiment.hh"

namespace thinpipe {

struct SlurmChoice {
  std::string executor = {};  // empty: the experiment's
  std::string partition = {};
  std::string time = {};
  std::string account = {};
  std::string constraint = {};
  bool detach = false;
  std::vector<std::string> further = {};  // options of sbatch, after --

  void add_to(CLI::App& command);

  // Takes what the command line leaves open from the experiment. Throws InputError if an option of either has no effect, or
  // is one that only Thinpipe sets. `arguments`: of this process.
  void complete(const Experiment& experiment, const std::vector<std::string>& arguments);

  // After complete().
  bool is_chosen() const { return executor == "slurm"; }

  // Returns the options of sbatch.
  std::vector<std::string> sbatch_options() const;

 private:
  void check(const std::vector<std::string>& arguments) const;
};

// Returns the command line of this process without these options, whatever the experiment says, and with its program's
// absolute path: it executes the runs itself.
std::vector<std::string> without_slurm(const std::vector<std::string>& arguments);

}  // namespace thinpipe
