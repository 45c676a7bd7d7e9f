// The options of `thinpipe run` that hand its runs to Slurm.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace thinpipe {

struct SlurmChoice {
  std::string executor = "local";
  std::string partition = {};
  std::string time = {};
  std::string account = {};
  std::string constraint = {};
  bool detach = false;
  std::vector<std::string> further = {};  // options of sbatch, after --

  void add_to(CLI::App& command);

  bool is_chosen() const { return executor == "slurm"; }

  // Throws InputError if an option has no effect, or is one that only Thinpipe sets. `arguments`: of this process.
  void check(const std::vector<std::string>& arguments) const;

  // Returns the options of sbatch.
  std::vector<std::string> sbatch_options() const;
};

// Returns the command line of this process without these options, and with its program's absolute path: it executes
// the runs itself.
std::vector<std::string> without_slurm(const std::vector<std::string>& arguments);

}  // namespace thinpipe
