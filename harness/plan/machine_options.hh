// SPDX-License-Identifier: Apache-2.0
// The machines on which a simulation's workers run, as an experiment describes them.
//
//   "machine": "measured"                                                     this machine, shared by all workers
//   "machine": {"costs": "machine.json", "cores": 8, "workers_per_machine": 4}  another one
#pragma once

#include <optional>
#include <string>

#include "common/support/options.hh"

namespace thinpipe {

inline constexpr const char* measured_costs = "measured";
inline constexpr const char* free_communication = "free";

struct MachineOptions {
  static constexpr std::string_view shorthand = "costs";

  std::string costs = measured_costs;
  std::optional<double> cores;
  std::optional<std::int64_t> workers_per_machine;
  bool communication_first = true;

  // Whether the costs are in a file, whose path `costs` is.
  bool reads_file() const { return costs != measured_costs && costs != free_communication; }

  void visit(auto& field) {
    field("costs", costs,
          Rule{.effect =
                   "CPU time of communication per message and byte: \"measured\": on this machine, over the "
                   "run's network; \"free\": none; or path of a measured machine's .json file, relative to "
                   "the experiment's folder",
               .file_names = {measured_costs, free_communication},
               .required = true});
    field("cores", cores,
          Rule{.effect = "cores of a machine; null: those of the measured machine, or of this one",
               .above = 0});
    field(
        "workers_per_machine", workers_per_machine,
        Rule{.effect =
                 "workers that share the cores of a machine, in the order of ranks; null: all of them, as in "
                 "a run on this machine",
             .at_least = 1});
    field(
        "communication_first", communication_first,
        Rule{
            .effect =
                "true: the network's work goes first, then encoding and decoding, then compute, as in a live "
                "run; false: all share the cores equally"});
  }
};

}  // namespace thinpipe
