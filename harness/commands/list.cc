// SPDX-License-Identifier: Apache-2.0
// thinpipe list: prints the names that experiments can use, with their options, defaults and units.
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/protocol/compute_profile.hh"
#include "common/protocol/device.hh"
#include "common/support/file_descriptor.hh"
#include "common/support/nearest.hh"
#include "harness/commands/command.hh"
#include "harness/experiment/bundled_files.hh"
#include "harness/plan/trainer_program.hh"
#include "netem/topology/topology.hh"
#include "netem/topology/topology_format.hh"

namespace thinpipe {
namespace {

const std::vector<std::string> listed_kinds = {"synchronisers", "models",   "datasets",   "partitions",
                                               "optimisers",    "pruning",  "topologies", "profiles",
                                               "collectives",   "trainers", "settings",   "experiments"};

struct ListOptions {
  std::string kind;
  bool json = false;
};

Json describe_experiments() {
  Json out = Json::object();
  for (const std::string& name : bundled_experiments().names()) {
    const Json file = parse_json_file(bundled_experiments().find(name, {}, {}).string());
    out[name] = {{"summary", file.value("description", "")}};
  }
  return out;
}

Json describe_topologies() {
  Json out = Json::object();
  for (const std::string& name : bundled_topologies().names()) {
    const netem::Topology topology = netem::load_topology(bundled_topologies().find(name, {}, {}));
    out[name] = {{"summary", topology.description}, {"topology", netem::to_json(topology)}};
  }
  return out;
}

Json describe_profiles() {
  Json out = Json::object();
  for (const std::string& name : bundled_compute_profiles().names()) {
    const std::string path = bundled_compute_profiles().find(name, {}, {}).string();
    const Json file = parse_json_file(path);
    if (is_device(file)) {
      const Device device = parse_device(file, {path, ""});
      out[name] = {{"summary", fmt::format("estimated for {}; {}", device.name, device.source)}};
    } else {
      out[name] = {{"summary", fmt::format("measured on {}", parse_profile(file, path).device.dump())}};
    }
  }
  return out;
}

// Describes each trainer by the first line of its docstring.
Json describe_trainers() {
  constexpr std::string_view quotes = R"(""")";
  Json out = Json::object();
  for (const std::string& name : bundled_trainers().names()) {
    const std::string text = read_file(bundled_trainers().find(name, {}, {}));
    const std::size_t quoted = text.find(quotes);
    const std::size_t begin = quoted == std::string::npos ? text.size() : quoted + quotes.size();
    out[name] = {{"summary", text.substr(begin, text.find('\n', begin) - begin)}};
  }
  return out;
}

// Describes the parts of a configuration that are not chosen by name: training, buckets and so on.
Json describe_settings(const Json& configuration) {
  Json out = Json::object();
  for (const Json& entry : configuration) {
    if (!entry.contains("options")) continue;
    out[entry.at("key").get<std::string>()] = {{"summary", entry.at("effect")},
                                               {"options", entry["options"]}};
  }
  return out;
}

Json describe_kind(const std::string& kind) {
  if (kind == "experiments") return describe_experiments();
  if (kind == "topologies") return describe_topologies();
  if (kind == "profiles") return describe_profiles();
  if (kind == "trainers") return describe_trainers();
  const Json described = TrainerProgram::find().describe();
  return kind == "settings" ? describe_settings(described.at("configuration")) : described.at(kind);
}

// Returns the option's rules: " [above 0, at most 1]", " [one of a, b]".
std::string rules(const Json& option) {
  std::vector<std::string> out;
  for (const auto& [key, words] :
       {std::pair{"above", "above"}, {"at_least", "at least"}, {"below", "below"}, {"at_most", "at most"}}) {
    if (option.contains(key)) out.push_back(fmt::format("{} {}", words, option[key].dump()));
  }
  if (option.contains("one_of")) {
    out.push_back(
        fmt::format("one of {}", fmt::join(option["one_of"].get<std::vector<std::string>>(), ", ")));
  }
  return out.empty() ? "" : fmt::format(" [{}]", fmt::join(out, ", "));
}

void print_options(const Json& options, int depth) {
  for (const Json& option : options) {
    const Json fallback = option.value("default", Json(nullptr));
    const std::string standard = option.value("required", false) ? " (required)"
                                 : fallback.is_null()            ? ""
                                                                 : " (default " + fallback.dump() + ")";
    fmt::print("{:{}}{}: {}{}{}\n", "", 2 * depth, option.at("key").get<std::string>(),
               option.at("effect").get<std::string>(), standard, rules(option));
    if (option.contains("options")) print_options(option["options"], depth + 1);
  }
}

int list(const ListOptions& options) {
  if (std::ranges::find(listed_kinds, options.kind) == listed_kinds.end()) {
    throw InputError({"thinpipe list", ""}, fmt::format("unknown name \"{}\"{}", options.kind,
                                                        suggestion(options.kind, listed_kinds)));
  }
  const Json entries = describe_kind(options.kind);
  if (options.json) {
    fmt::print("{}\n", entries.dump(2));
    return 0;
  }
  for (const auto& [name, entry] : entries.items()) {
    fmt::print("{}: {}\n", name, entry.value("summary", ""));
    print_options(entry.value("options", Json::array()), 1);
  }
  return 0;
}

void add_list(CLI::App& program, Invocation& invocation) {
  const auto options = std::make_shared<ListOptions>();
  CLI::App& command = *program.add_subcommand("list", "List the names that experiments can use");
  command.add_option("kind", options->kind, fmt::format("{}", fmt::join(listed_kinds, ", ")))
      ->required()
      ->type_name("KIND");
  command.add_flag("--json", options->json, "Print JSON");
  command.footer(
      "Examples:\n"
      "  thinpipe list synchronisers\n"
      "  thinpipe list topologies --json");
  command.callback([options, &invocation] { invocation.action = [options] { return list(*options); }; });
}

THINPIPE_REGISTER(Command){5, add_list};

}  // namespace
}  // namespace thinpipe
