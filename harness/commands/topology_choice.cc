#include "harness/commands/topology_choice.hh"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "common/support/nearest.hh"
#include "harness/experiment/bundled_files.hh"
#include "harness/plan/controller_options.hh"

namespace thinpipe {
namespace {

const std::string bottleneck_rate = "bottleneck.rate";
const std::string bottleneck_burst = "bottleneck.burst";

struct Override {
  Place place;
  std::string path;
  std::string value;
};

Override parse_assignment(const std::string& assignment) {
  const Place place{"--set " + assignment, ""};
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos) throw InputError(place, "must be written path=value");
  const std::string path = assignment.substr(0, equals);
  if (path != bottleneck_rate && path != bottleneck_burst) {
    throw InputError(place, fmt::format("unknown path \"{}\"{}", path,
                                        suggestion(path, {bottleneck_rate, bottleneck_burst})));
  }
  return {place, path, assignment.substr(equals + 1)};
}

void apply(const Override& change, netem::Topology& topology) {
  BottleneckOptions options;
  if (change.path == bottleneck_rate) {
    read_field("rate", change.value, change.place, options);
    netem::set_bottleneck_rate(topology, options.rate_bit_per_s, change.place);
  } else {
    read_field("burst", change.value, change.place, options);
    netem::set_bottleneck_burst(topology, options.burst_s.value(), change.place);
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
          "Change the bottlenecks' cap, as in 'bottleneck.rate=1 Gbit/s', or their burst, as in 'bottleneck.burst=150 us'")
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
  // A burst is a time at the rate, so rates come first.
  std::stable_partition(changes.begin(), changes.end(),
                        [](const Override& each) { return each.path == bottleneck_rate; });
  for (const Override& change : changes) apply(change, topology);
  return topology;
}

}  // namespace thinpipe
