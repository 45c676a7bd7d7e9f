// SPDX-License-Identifier: Apache-2.0
// thinpipe advise: says which methods pay off for a model, a network and a compute time, and at which caps.
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "common/support/standard_streams.hh"
#include "common/support/units.hh"
#include "harness/advice/advice.hh"
#include "harness/advice/advice_table.hh"
#include "harness/advice/assumptions.hh"
#include "harness/advice/hindsight.hh"
#include "harness/advice/parameter_count.hh"
#include "harness/advice/pay_off.hh"
#include "harness/commands/command.hh"
#include "harness/commands/options/advice_choice.hh"
#include "harness/experiment/data_folder.hh"
#include "harness/plan/compute_costs.hh"
#include "harness/plan/run_plan.hh"
#include "harness/records/provenance.hh"

namespace thinpipe {
namespace {

constexpr const char* no_costs = "none";
constexpr double lowest_rate_bit_per_s = 10e6;
constexpr double highest_rate_bit_per_s = 10e9;
constexpr int rates_per_decade = 8;
constexpr int advice_version = 1;

struct AdviseOptions {
  AdviceChoice choice;
  std::vector<std::string> rates;
  std::optional<std::string> encode_decode;
  std::optional<std::string> against;
  bool json = false;
};

std::vector<double> read_rates(const std::vector<std::string>& texts) {
  if (texts.empty()) return geometric_rates(lowest_rate_bit_per_s, highest_rate_bit_per_s, rates_per_decade);
  std::set<double> rates;
  for (const std::string& text : texts) rates.insert(read_positive("--rates", Quantity::rate, text));
  return {rates.begin(), rates.end()};
}

CodecCosts read_costs(const std::optional<std::string>& named) {
  if (named == no_costs) return {};
  const std::string file =
      named.value_or((data_folder() / "results" / "reference" / "encode-decode.json").string());
  return {parse_json_file(file), file};
}

std::vector<Candidate> candidates_of(const std::vector<Run>& runs, std::optional<double> parameters,
                                     const CodecCosts& costs) {
  std::vector<Candidate> candidates;
  for (const Run& run : runs) {
    if (!run.runs_command() && run.training->plan.is_null() && !run.missing.empty())
      throw run.missing.front();
    if (!can_predict(run)) {
      throw InputError(
          {"--set", ""},
          "only live training without changes, other traffic and faults can be predicted; leave out "
          "mode, trainer, network_events, rate_trace, cross_traffic and worker_events");
    }
    Candidate candidate{.method = run.label, .run = run};
    if (parameters) {
      CheckedConfig training = *run.training;
      training.plan = scale_plan(std::move(training.plan), *parameters);
      candidate.run.training = std::make_shared<const CheckedConfig>(std::move(training));
    }
    candidate.codec = costs.of(run.training->config, candidate.run.training->plan, run.workers);
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

// A plan has each configuration once.
void require_all_methods(const Axis& methods, const std::vector<Candidate>& candidates) {
  for (const Axis::Value& method : methods.values) {
    if (std::ranges::find(candidates, method.label, &Candidate::method) != candidates.end()) continue;
    throw InputError({"--methods " + method.label, ""},
                     "is the same configuration as another of the methods; leave one out");
  }
}

std::vector<std::string> caps_of(const netem::Topology& topology) {
  std::set<double> caps;
  for (const netem::Link& link : topology.links) {
    if (!link.bottleneck) continue;
    for (const auto& rate : {link.forward.rate_bit_per_s, link.backward.rate_bit_per_s}) {
      if (rate) caps.insert(*rate);
    }
  }
  std::vector<std::string> out;
  for (const double cap : caps) out.push_back(format_quantity(Quantity::rate, cap));
  return out;
}

double measure_compute_s(const Run& dense, const TrainerProgram& trainer) {
  if (!dense.missing.empty()) throw dense.missing.front();
  MeasuredCosts measured(trainer, [](const std::string& line) { print_stderr("{}\n", line); });
  return measured.of(dense).value().compute_s;  // a live run has no profile
}

Json advice_for(const AdviseOptions& options, const CodecCosts& costs) {
  const AdviceChoice& choice = options.choice;
  const std::vector<double> rates = read_rates(options.rates);
  const std::optional<double> given_compute_s = choice.compute_time_s();
  choice.check_topology();
  const TrainerProgram trainer = TrainerProgram::find();
  const Experiment experiment = choice.experiment(trainer.describe());
  const std::vector<Candidate> candidates =
      candidates_of(plan_runs(experiment, trainer), choice.parameters, costs);
  require_all_methods(experiment.axes.front(), candidates);
  const Run& dense = candidates.front().run;
  const double compute_s = given_compute_s ? *given_compute_s : measure_compute_s(dense, trainer);
  Json advice = advise(candidates, compute_s, rates);
  advice["schema_version"] = advice_version;
  advice["git_commit"] = describe_program_and_machine().at("git_commit");
  advice["topology"] = dense.setting->topology.name;
  advice["caps"] = caps_of(dense.setting->topology);
  advice["workers"] = dense.workers;
  advice["model"] = choice.model ? Json(*choice.model) : Json(nullptr);
  advice["parameters"] = dense.training->plan.at("parameters");
  advice["compute_time_s"] = compute_s;
  advice["compute_is_measured"] = !given_compute_s;
  advice["encode_decode_from"] = costs.known() ? Json(costs.origin()) : Json(nullptr);
  advice["assumptions"] = assumptions(candidates, costs, choice.parameters.has_value());
  return advice;
}

int advise(const AdviseOptions& options) {
  const CodecCosts costs = read_costs(options.encode_decode);
  if (options.against) {
    if (!options.choice.topology.empty()) {
      throw InputError({"--against " + *options.against, ""},
                       "compares recorded runs, which have their own topology; "
                       "leave out TOPOLOGY");
    }
    fmt::print(
        "{}\n",
        compare_with_records(*options.against, costs).dump(2, ' ', false, Json::error_handler_t::replace));
    return 0;
  }
  if (options.choice.topology.empty()) {
    throw InputError({"thinpipe advise", ""},
                     "needs a TOPOLOGY, such as three-switch; thinpipe list topologies shows all");
  }
  const Json advice = advice_for(options, costs);
  fmt::print("{}", options.json ? advice.dump(2) + "\n" : format_advice(advice));
  return 0;
}

void add_advise(CLI::App& program, Invocation& invocation) {
  const auto options = std::make_shared<AdviseOptions>();
  CLI::App& command = *program.add_subcommand("advise", "Predict which methods pay off, and at which caps");
  options->choice.add_to(command);
  command
      .add_option("--rates", options->rates,
                  "Caps to predict for, separated by commas (default: 10 Mbit/s to 10 Gbit/s)")
      ->delimiter(',')
      ->type_name("RATES")
      ->allow_extra_args(false);
  command
      .add_option(
          "--encode-decode", options->encode_decode,
          "Output of synchroniser_benchmarks with the methods' encode and decode times, or none to leave them out "
          "(default: the reference results)")
      ->type_name("FILE");
  command
      .add_option(
          "--against", options->against,
          "Instead of advice: print, as JSON, predicted and measured iteration times of an experiment's recorded "
          "live runs")
      ->type_name("RESULTS");
  command.add_flag("--json", options->json, "Print JSON");
  command.footer(
      "Examples:\n"
      "  thinpipe advise three-switch --model small_cnn --compute '50 ms'\n"
      "  thinpipe advise three-switch --parameters 25e6 --compute '120 ms' --set 'bottleneck.rate=1 Gbit/s'\n"
      "  thinpipe advise star --parameters 25e6 --compute '120 ms' --methods 'topk 0.01,topk ratio=0.05' --json\n"
      "  thinpipe advise --against results/quickstart\n"
      "The iteration times are those of `thinpipe plan`, plus encode and decode times. plotting/advise.py draws them.");
  command.callback([options, &invocation] { invocation.action = [options] { return advise(*options); }; });
}

THINPIPE_REGISTER(Command){3, add_advise};

}  // namespace
}  // namespace thinpipe
