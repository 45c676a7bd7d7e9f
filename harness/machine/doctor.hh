// SPDX-License-Identifier: Apache-2.0
// Tests what this machine can do for Thinpipe, and describes how to get what is missing.
#pragma once

#include <string>
#include <vector>

#include "common/support/json_object.hh"
#include "netem/kernel/awake_cores.hh"
#include "netem/topology/topology.hh"

namespace thinpipe {

struct Finding {
  std::string name;
  bool ok = false;
  bool needed = false;      // by a live run
  std::string found = {};   // what was tried, and the result
  std::string remedy = {};  // if it is not ok
};

// Examines the network. Runs in a sandbox, which proves that user namespaces work. Tests queueing
// disciplines, congestion controls, how late sleepers wake up, the topology itself, all of its caps at once,
// and priorities.
std::vector<Finding> examine_network(const netem::Topology& topology, netem::IdleCores idle_cores);

// Examines the worker program and its libraries, accelerators and data sets, as it reports them.
std::vector<Finding> examine_trainer();

// Examines whether this process can create control groups: creates one and removes it. `proc` is "/proc".
Finding examine_cgroups(const std::string& proc);

// Returns the finding of a sandbox that could not be created.
Finding no_sandbox(const std::string& why);

// Returns whether this machine has all that a live run needs.
bool ready(const std::vector<Finding>& findings);

// {"ready", "findings": [{"name", "ok", "needed", "found", "remedy"}]}
Json to_json(const std::vector<Finding>& findings);
std::vector<Finding> findings_from_json(const Json& value);
std::string format_findings(const std::vector<Finding>& findings);

}  // namespace thinpipe
