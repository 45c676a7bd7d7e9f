// What this machine can do for Thinpipe, found by trying, and how to get what is missing.
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
  std::string found = {};   // what was tried and what came of it
  std::string remedy = {};  // where it is not ok
};

// Inside a sandbox: user namespaces (which are there, or this would not run), queueing disciplines,
// congestion controls, how late sleepers wake up, the topology itself, its caps all filled at once, and
// priorities.
std::vector<Finding> examine_network(const netem::Topology& topology, netem::IdleCores idle_cores);

// The worker program and its libraries, accelerators and data sets, as it reports them.
std::vector<Finding> examine_trainer();

// Whether this process may make control groups, from `proc` ("/proc"): tries to, and removes what it made.
Finding examine_cgroups(const std::string& proc);

// The finding of a sandbox that could not be made.
Finding no_sandbox(const std::string& why);

// Whether all that a live run needs is there.
bool ready(const std::vector<Finding>& findings);

// {"ready", "findings": [{"name", "ok", "needed", "found", "remedy"}]}
Json to_json(const std::vector<Finding>& findings);
std::vector<Finding> findings_from_json(const Json& value);
std::string format_findings(const std::vector<Finding>& findings);

}  // namespace thinpipe
