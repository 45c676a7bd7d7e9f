// SPDX-License-Identifier: Apache-2.0
// The machines that a batch system has given to this process, and how to start a program on one of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace thinpipe {

class Allocation {
 public:
  // Returns the machines of the Slurm job in which this process runs; nullopt outside of a job. Throws Error if Slurm
  // does not tell them.
  static std::optional<Allocation> find();

  const std::vector<std::string>& nodes() const { return nodes_; }

  // Returns what a command line on that node begins with. The program gets this process's environment and folder, and
  // its output arrives as the prefix's own. It ends when the prefix gets SIGTERM, and with the job.
  std::vector<std::string> launcher(std::size_t node) const;

 private:
  explicit Allocation(std::vector<std::string> nodes) : nodes_(std::move(nodes)) {}

  std::vector<std::string> nodes_;
};

}  // namespace thinpipe
