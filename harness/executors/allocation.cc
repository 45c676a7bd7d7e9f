// SPDX-License-Identifier: Apache-2.0
#include "harness/executors/allocation.hh"

#include <cstdlib>
#include <sstream>

#include "common/support/child_process.hh"
#include "common/support/exception.hh"

namespace thinpipe {

std::optional<Allocation> Allocation::find() {
  const char* const list = std::getenv("SLURM_JOB_NODELIST");
  if (list == nullptr) return std::nullopt;
  const std::vector<std::string> command = {"scontrol", "show", "hostnames", list};
  const Output output = run_program(command);
  std::istringstream lines(output.text);
  std::vector<std::string> nodes;
  for (std::string line; std::getline(lines, line);) nodes.push_back(line);
  if (!output.status.ok() || nodes.empty())
    throw Error("list the nodes of this job: `scontrol show hostnames` ended with " +
                output.status.describe());
  return Allocation(std::move(nodes));
}

// --overlap: the controller's own batch step keeps its resources. Without --cpu-bind, a task may be bound to one core.
std::vector<std::string> Allocation::launcher(std::size_t node) const {
  return {"srun",      "--quiet",         "--nodes=1",    "--ntasks=1",  "--nodelist=" + nodes_.at(node),
          "--overlap", "--cpu-bind=none", "--input=none", "--export=ALL"};
}

}  // namespace thinpipe
