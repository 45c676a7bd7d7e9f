// SPDX-License-Identifier: Apache-2.0
// What executes an experiment's runs, unless the command line says otherwise. It decides nothing about their results.
#pragma once

#include <string>
#include <vector>

#include "common/support/options.hh"

namespace thinpipe {

struct ExecutorOptions {
  std::string name = "local";
  // The options of sbatch with these names; empty: sbatch's defaults.
  std::string partition = {};
  std::string time = {};
  std::string account = {};
  std::string constraint = {};
  std::vector<std::string> sbatch = {};

  bool operator==(const ExecutorOptions&) const = default;

  void visit(auto& field) {
    field(
        "name", name,
        Rule{.effect =
                 "local: the command itself, one run after the other; slurm: job arrays with a task for each "
                 "run (docs/how-to/cluster.md)",
             .one_of = {"local", "slurm"},
             .required = true});
    field("partition", partition, Rule{.effect = "slurm: the partition with the nodes"});
    field("time", time,
          Rule{.effect = "slurm: the time limit of each run, such as \"30\" (minutes) or \"2:00:00\""});
    field("account", account, Rule{.effect = "slurm: the account that pays"});
    field("constraint", constraint, Rule{.effect = "slurm: features that a node must have"});
    field("sbatch", sbatch, Rule{.effect = "slurm: further options of sbatch, such as \"--mem=8G\""});
  }
};

}  // namespace thinpipe
