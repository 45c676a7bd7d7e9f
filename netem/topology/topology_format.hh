// SPDX-License-Identifier: Apache-2.0
// Topologies as JSON, the format of files and records. Pure: reads files, but does not touch the kernel.
#pragma once

#include <string>

#include "common/support/json_object.hh"
#include "netem/topology/topology.hh"

namespace thinpipe::netem {

// Reads and checks a topology; throws InputError naming the place, the rule and the remedy. In the result
// every host has exactly one link and reaches every other, and a bridged network is a tree. (A topology of
// another kind than network has nothing but hosts.) harness/schema/topology.schema.json describes the format to editors.
Topology parse_topology(const Json& value, const Place& place);
Topology load_topology(const std::string& path);

// Returns the topology with one link per pair of nodes and every default filled in; parse_topology reads it
// back.
Json to_json(const Topology& topology);

}  // namespace thinpipe::netem
