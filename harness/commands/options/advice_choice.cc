// SPDX-License-Identifier: Apache-2.0
#include "harness/commands/options/advice_choice.hh"

#include <algorithm>

#include <fmt/format.h>

#include "common/support/nearest.hh"
#include "common/support/units.hh"
#include "harness/advice/methods.hh"
#include "harness/advice/parameter_count.hh"
#include "harness/experiment/bundled_files.hh"
#include "harness/schema/override_types.hh"
#include "netem/topology/topology.hh"
#include "netem/topology/topology_format.hh"

namespace thinpipe {
namespace {

// Refuses a topology without caps, over which no method pays off.
netem::Topology load_capped(const std::string& name) {
  const Place place{"TOPOLOGY " + name, ""};
  netem::Topology topology = netem::load_topology(bundled_topologies().find(name, "", place));
  if (!topology.is_emulated()) {
    throw InputError(place, fmt::format("is of kind \"{}\", which has no links to relieve; name another",
                                        netem::name_of(topology.kind)));
  }
  const auto limits = [](const netem::Link& link) { return link.bottleneck && !is_uncapped(link); };
  if (std::ranges::none_of(topology.links, limits)) {
    throw InputError(place,
                     "has no bottleneck whose cap could decide; give a link a \"rate\" and mark it with "
                     "\"bottleneck\": true");
  }
  return topology;
}

void check_model(const std::string& model, const Json& description) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : description.at("models").items()) names.push_back(name);
  const bool is_in_python = model.find(':') != std::string::npos;
  if (is_in_python || std::ranges::find(names, model) != names.end()) return;
  throw InputError({"--model " + model, ""},
                   fmt::format("unknown name \"{}\"{}", model, suggestion(model, names)));
}

// Made-up images of 3 x 32 x 32, or Debian's licences for language models, so that nothing need be downloaded.
Json data_for(const std::string& model) {
  if (model.starts_with("gpt")) return {{"name", "bytes"}};
  return {{"name", "synthetic"}, {"channels", 3}, {"height", 32}, {"width", 32}};
}

Json base_of(const AdviceChoice& choice, const Json& description) {
  if (choice.model.has_value() == choice.parameters.has_value()) {
    throw InputError({"thinpipe advise", ""},
                     "needs either --model NAME, such as resnet18, or --parameters NUMBER, "
                     "such as 25e6");
  }
  Json base = Json::object();
  if (choice.model) {
    check_model(*choice.model, description);
    base = {{"model", {{"name", *choice.model}}}, {"dataset", data_for(*choice.model)}};
  } else {
    const Place place{fmt::format("--parameters {:g}", *choice.parameters), ""};
    if (!choice.compute) {
      throw InputError(place,
                       "needs --compute, such as --compute '120 ms': only a model's compute time can be "
                       "measured here; or name one with --model");
    }
    if (!(*choice.parameters >= min_advised_parameters && *choice.parameters <= max_advised_parameters)) {
      throw InputError(place, fmt::format("must be at least {:g} and at most {:g}", min_advised_parameters,
                                          max_advised_parameters));
    }
    base = stand_in_configuration();
  }
  base["topology"] = choice.topology;
  if (const auto workers = choice.workers) {
    const netem::Topology topology = load_capped(choice.topology);
    const auto hosts = static_cast<std::int64_t>(topology.hosts.size());
    if (*workers < 2 || *workers > hosts) {
      throw InputError(
          {fmt::format("--workers {}", *workers), ""},
          fmt::format("must be at least 2 and at most {}, the number of hosts of {}", hosts, topology.name));
    }
    base["workers"] = *workers;
  }
  return base;
}

}  // namespace

void AdviceChoice::add_to(CLI::App& command) {
  command.add_option("topology", topology, "A topology's name (see thinpipe list topologies) or .json file")
      ->type_name("TOPOLOGY");
  command.add_option("--model", model, "A model's name (see thinpipe list models)")->type_name("NAME");
  command.add_option("--parameters", parameters, "The number of parameters, instead of a model")
      ->type_name("NUMBER");
  command
      .add_option(
          "--compute", compute,
          "A worker's compute time per iteration, such as '50 ms'; by default, the model's is measured here in "
          "a few seconds")
      ->type_name("TIME");
  command.add_option("--workers", workers, "Number of workers (default: one per host)")->type_name("N");
  command
      .add_option(
          "--set", overrides,
          "Change the configuration, as in 'bottleneck.rate=1 Gbit/s' or collective.name=ring; may be repeated")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  command
      .add_option(
          "--methods", methods,
          "Methods to compare, separated by commas: names as in the table, or a synchroniser with options, as in "
          "'topk ratio=0.05' or 'pactrain pruning.ratio=0.9'")
      ->delimiter(',')
      ->type_name("METHODS")
      ->allow_extra_args(false);
}

std::optional<double> AdviceChoice::compute_time_s() const {
  return compute ? std::optional(read_positive("--compute", Quantity::duration, *compute)) : std::nullopt;
}

void AdviceChoice::check_topology() const {
  load_capped(topology);
}

Experiment AdviceChoice::experiment(const Json& description) const {
  const Json base = base_of(*this, description);
  std::vector<std::string> known;
  for (const auto& [name, entry] : description.at("synchronisers").items()) known.push_back(name);
  OrderedJson sweep = OrderedJson::object();
  for (const AdvisedMethod& method : methods.empty() ? usual_methods() : read_methods(methods, known))
    sweep[method.label] = method.patch;
  const OrderedJson text = {{"name", "advise"}, {"base", base}, {"sweep", {{"method", sweep}}}};
  return parse_experiment(text.dump(), "thinpipe advise", overrides, described_text());
}

double read_positive(const std::string& option, Quantity quantity, const std::string& text) {
  const Place place{fmt::format("{} {}", option, text), ""};
  double value = 0;
  try {
    value = parse_quantity(quantity, text);
  } catch (const Error& error) {
    throw InputError(place, error.what());
  }
  if (value <= 0) throw InputError(place, "must be above 0");
  return value;
}

}  // namespace thinpipe
