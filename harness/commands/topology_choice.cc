#include "harness/commands/topology_choice.hh"

#include <map>

#include <fmt/format.h>

#include "common/support/nearest.hh"
#include "harness/experiment/bundled_files.hh"
#include "harness/plan/controller_options.hh"

namespace thinpipe {
namespace {

const std::string bottleneck_rate = "bottleneck.rate";

void apply(const std::string& assignment, netem::Topology& topology) {
  const Place place{"--set " + assignment, ""};
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos) throw InputError(place, "must be written path=value");
  const std::string path = assignment.substr(0, equals);
  if (path != bottleneck_rate) {
    throw InputError(place, fmt::format("unknown path \"{}\"{}", path, suggestion(path, {bottleneck_rate})));
  }
  BottleneckOptions options;
  read_field("rate", assignment.substr(equals + 1), place, options);
  netem::set_bottleneck_rate(topology, options.rate_bit_per_s, place);
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
  command.add_option("--set", overrides, "Change the bottlenecks' cap, as in 'bottleneck.rate=1 Gbit/s'")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  add_idle_cores(command, idle_cores);
}

netem::Topology TopologyChoice::load() const {
  const Place place{"TOPOLOGY " + name, ""};
  netem::Topology topology = netem::load_topology(bundled_topologies().find(name, "", place));
  if (!topology.is_emulated()) {
    throw InputError(place, "is of kind \"loopback\", which has no virtual network; name another");
  }
  for (const std::string& assignment : overrides) apply(assignment, topology);
  return topology;
}

}  // namespace thinpipe
