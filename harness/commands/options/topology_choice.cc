// SPDX-License-Identifier: Apache-2.0
#include "harness/commands/options/topology_choice.hh"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "common/support/nearest.hh"
#include "common/support/options.hh"
#include "harness/experiment/bundled_files.hh"
#include "harness/plan/controller_options.hh"
#include "netem/topology/topology_format.hh"
#include "netem/topology/topology_settings.hh"

namespace thinpipe {
namespace {

const std::string prefix = "bottleneck.";
const std::string mtu_path = "mtu";
const std::string congestion_control_path = "congestion_control";

struct Override {
  Place place;
  std::string path;
  std::string value;
};

std::vector<std::string> override_paths() {
  std::vector<std::string> out = {mtu_path, congestion_control_path};
  for (const Json& entry : describe_options<BottleneckOptions>())
    out.push_back(prefix + entry.at("key").get<std::string>());
  return out;
}

Override parse_assignment(const std::string& assignment) {
  const Place place{"--set " + assignment, ""};
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos) throw InputError(place, "must be written path=value");
  const std::string path = assignment.substr(0, equals);
  const std::vector<std::string> paths = override_paths();
  if (std::ranges::find(paths, path) == paths.end())
    throw InputError(place, fmt::format("unknown path \"{}\"{}", path, suggestion(path, paths)));
  return {place, path, assignment.substr(equals + 1)};
}

// Returns the value as JSON: text, except true, false and whole numbers.
Json to_json(const std::string& value) {
  if (value == "true" || value == "false") return value == "true";
  const bool is_number = !value.empty() && value.size() < 10 &&
                         std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? Json(std::stoi(value)) : Json(value);
}

// Applies all of them. The smallest burst and queue follow from the size of packets, and both are times at the rate, so these
// come first; a discipline and its marks are checked together.
void apply_all(const std::vector<Override>& changes, netem::Topology& topology) {
  BottleneckOptions options;
  std::map<std::string, Place> places;
  for (const Override& change : changes) {
    if (change.path == mtu_path) {
      netem::set_mtu(topology, to_json(change.value), change.place);
    } else if (change.path == congestion_control_path) {
      netem::set_congestion_control(topology, change.value, change.place);
    } else {
      const std::string key = change.path.substr(prefix.size());
      read_field(key, to_json(change.value), change.place, options);
      places.insert_or_assign(key, change.place);
    }
  }
  netem::forget_bottleneck_buffers(topology, options.burst_s.has_value(), options.queue_s.has_value());
  if (options.rate_bit_per_s)
    netem::set_bottleneck_rate(topology, *options.rate_bit_per_s, places.at("rate"));
  if (options.queue_s) netem::set_bottleneck_queue(topology, *options.queue_s, places.at("queue"));
  if (options.burst_s) netem::set_bottleneck_burst(topology, *options.burst_s, places.at("burst"));
  if (options.has_queueing()) {
    const auto queueing =
        options.queueing ? std::optional(netem::queueing_of(*options.queueing)) : std::nullopt;
    netem::set_bottleneck_queueing(topology, queueing, options.ecn,
                                   places.at(options.ecn ? "ecn" : "queueing"));
  }
}

}  // namespace

void add_idle_cores(CLI::App& command, netem::IdleCores& value) {
  static const std::map<std::string, netem::IdleCores> choices = {{"as-needed", netem::IdleCores::as_needed},
                                                                  {"awake", netem::IdleCores::kept_awake},
                                                                  {"may-sleep", netem::IdleCores::may_sleep}};
  command
      .add_option_function<std::string>(
          "--idle-cores", [&value](const std::string& word) { value = choices.at(word); },
          "\"awake\": keep idle CPU cores from sleeping, because cores that wake up late slow links down "
          "while nobody computes; \"may-sleep\": do not; \"as-needed\" (default): awake if they wake up late")
      ->transform(CLI::IsMember(choices, CLI::ignore_case).description(""))
      ->type_name("as-needed|awake|may-sleep");
}

void TopologyChoice::add_to(CLI::App& command) {
  CLI::Option& positional =
      *command.add_option("topology", name, "A topology's name (see thinpipe list topologies) or .json file")
           ->type_name("TOPOLOGY");
  if (name.empty()) {
    positional.required();
  } else {
    positional.capture_default_str();
  }
  command
      .add_option(
          "--set", overrides,
          "Change the bottlenecks: 'bottleneck.rate=1 Gbit/s', 'bottleneck.burst=150 us', 'bottleneck.queue=10 ms', "
          "'bottleneck.queueing=red', 'bottleneck.ecn=true'; or the whole network: 'mtu=9000', 'congestion_control=bbr'")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  add_idle_cores(command, idle_cores);
}

netem::Topology TopologyChoice::load() const {
  const Place place{"TOPOLOGY " + name, ""};
  netem::Topology topology = netem::load_topology(bundled_topologies().find(name, "", place));
  if (!topology.is_emulated()) {
    throw InputError(place, fmt::format("is of kind \"{}\", which has no virtual network; name another",
                                        netem::name_of(topology.kind)));
  }
  std::vector<Override> changes;
  for (const std::string& assignment : overrides) changes.push_back(parse_assignment(assignment));
  apply_all(changes, topology);
  return topology;
}

}  // namespace thinpipe
