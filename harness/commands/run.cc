// SPDX-License-Identifier: Apache-2.0
// thinpipe run: executes an experiment's runs, writes their records and prints a table that compares them.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

#include "common/support/log.hh"
#include "common/support/standard_streams.hh"
#include "harness/commands/command.hh"
#include "harness/commands/options/capture_choice.hh"
#include "harness/commands/options/experiment_choice.hh"
#include "harness/commands/options/slurm_choice.hh"
#include "harness/commands/options/topology_choice.hh"
#include "harness/commands/plan_table.hh"
#include "harness/executors/allocation.hh"
#include "harness/machine/network_threads.hh"
#include "harness/plan/compute_costs.hh"
#include "harness/plan/run_plan.hh"
#include "harness/records/lock_file.hh"
#include "harness/records/slurm_job.hh"
#include "harness/reports/text.hh"
#include "harness/run/parallel_controllers.hh"
#include "harness/run/reused_runs.hh"
#include "harness/run/sweep.hh"
#include "harness/slurm/slurm_sweep.hh"
#include "netem/kernel/sandbox.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

const std::map<std::string, Preparation> preparations = {{"weights", Preparation::weights},
                                                         {"measurements", Preparation::measurements}};
constexpr double max_limit_s = 365.0 * 24 * 3600;

struct RunOptions {
  ExperimentChoice choice;
  std::string results = "results";
  std::string stall_timeout = "10 min";
  std::string hang_timeout = "8 s";
  std::string profiling_time = "30 s";
  std::string log_level = "info";
  int jobs = 1;
  std::string run_id;   // empty: all
  std::string prepare;  // empty: executes the runs
  SlurmChoice slurm;
  netem::IdleCores idle_cores = netem::IdleCores::as_needed;
  double link_samples_per_s = 10;
  CaptureChoice capture;
  bool no_connections = false;
  bool no_worker_times = false;
  std::string tensorboard;
  Repeat repeat;
  std::vector<std::string> reuse;
  bool dry_run = false;
};

Seconds parse_limit(const std::string& option, const std::string& text) {
  double seconds = 0;
  read_value(text, {option, ""}, {.quantity = Quantity::duration, .above = 0, .at_most = max_limit_s},
             seconds);
  return Seconds(seconds);
}

// Throws InputError if `jobs` runs at a time would share too few cores and so distort each other's times.
void check_jobs(const std::vector<Run>& runs, const KeptRuns& kept, const TrainerProgram& trainer, int jobs) {
  const Machine machine = this_machine();
  MeasuredCosts costs(trainer, [](const std::string& line) { print_stderr("{}\n", line); });
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (kept[i]) continue;
    const Run& run = runs[i];
    if (run.runs_command()) {
      throw InputError({fmt::format("--jobs {}", jobs), ""},
                       fmt::format("needs to know what a run takes, but nothing is known of the command of "
                                   "\"{}\"; leave it out",
                                   run.label));
    }
    // If the compute time is unknown, assumes none: then the network needs most cores.
    const ComputeCost cost = costs.of(run).value_or(ComputeCost{.sleeps = true});
    const ResourceEstimate resources = estimate_resources(run, cost, machine);
    const std::int64_t busy_cores = runs_workers_here(run) ? run.workers : 1;  // a simulation keeps one busy
    if (const auto why = shortfall(resources, busy_cores, machine, jobs)) {
      throw InputError(
          {fmt::format("--jobs {}", jobs), ""},
          fmt::format("this many runs like \"{}\" at a time would disturb each other: {}", run.label, *why));
    }
  }
}

// Returns the run with this id. Throws InputError if there is none.
std::vector<Run> with_id(const std::vector<Run>& runs, const std::string& id) {
  const auto found = std::ranges::find(runs, id, &Run::id);
  if (found == runs.end())
    throw InputError(
        {"--run", ""},
        fmt::format("no run of this experiment has the id \"{}\"; `thinpipe plan` lists them", id));
  return {*found};
}

// Throws InputError unless the runs' ids are final: a node may have what this machine lacks, but not other data.
void require_final_ids(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    if (!run.id_is_final()) throw InputError(run.missing.front());
  }
}

// Throws InputError if a run that has not ended needs machines of its own, and this process has none.
void require_machines(const Experiment& experiment, const std::vector<Run>& runs, const KeptRuns& kept) {
  bool needs_machines = false;
  for (std::size_t i = 0; i < runs.size(); ++i)
    needs_machines = needs_machines || (!kept[i] && runs[i].mode == Mode::cluster);
  if (needs_machines && !Allocation::find())
    throw InputError(
        {experiment.file, ""},
        "has runs of mode \"cluster\", which need a machine for each worker; add --executor slurm, or start "
        "this command in a job of Slurm");
}

// Throws InputError unless every run that emulates a network has these links, and some run does.
void check_captures(const std::vector<Run>& runs, const netem::CaptureOptions& captures) {
  if (captures.links.empty()) return;
  const Place place{capture_option, ""};
  bool any = false;
  for (const Run& run : runs) {
    if (!run.needs_network || !run.setting->topology.is_emulated()) continue;
    any = true;
    netem::check_links(captures, run.setting->topology, place);
  }
  if (!any) throw InputError(place, "no run of this experiment emulates a network; leave it out");
}

// Returns when this command began, for what it repeats. Its processes in the sandbox and its further controllers inherit
// the time.
ChangeTime time_of_beginning(const fs::path& results) {
  constexpr const char* variable = "THINPIPE_BEGAN";
  const std::string folder = fs::absolute(results).string();
  const char* const inherited = std::getenv(variable);
  const std::string text = inherited == nullptr ? "" : inherited;
  const std::size_t space = text.find(' ');
  if (space != std::string::npos && text.substr(space + 1) == folder) return std::stoll(text);
  const ChangeTime now = change_time_now(results);
  ::setenv(variable, fmt::format("{} {}", now, folder).c_str(), 1);
  return now;
}

int finish(SweepResult result) {
  if (!result.digests.empty()) fmt::print("{}", text_report(report_of(std::move(result.digests))));
  return result.all_well ? 0 : 1;
}

int run(RunOptions options, const std::vector<std::string>& arguments) {
  if (const auto job = this_slurm_job(); job && job->requeued) options.repeat.except_of_job = job->id;
  std::optional<StopSignals> stop;
  // In the sandbox, watches from the start: a stop that is requested during planning must not be lost.
  if (netem::inside_sandbox()) stop.emplace();
  const Experiment experiment = options.choice.load();
  options.slurm.complete(experiment, arguments);
  const TrainerProgram trainer = TrainerProgram::find();
  const fs::path results = fs::path(options.results) / experiment.name;
  const bool repeats = options.repeat.all || options.repeat.failed || options.repeat.degraded;
  if (repeats && !options.dry_run) options.repeat.since = time_of_beginning(results);
  // find_kept ends the reader's thread, but --prepare does not call it, and a sandbox needs a single thread.
  const bool needs_all_records = options.choice.only.empty() && options.run_id.empty() &&
                                 options.prepare.empty() && !options.repeat.all && !options.dry_run;
  std::optional<EarlyReader> early;
  if (needs_all_records) early.emplace(results);
  std::vector<Run> runs = plan_runs(experiment, trainer, options.choice.only);
  if (!options.run_id.empty()) runs = with_id(runs, options.run_id);
  options.slurm.is_chosen() ? require_final_ids(runs) : require_all_here(runs);
  const SweepOptions sweep{
      .experiment = experiment.name,
      .results = results,
      .repeat = options.repeat,
      // One run of several keeps what they share.
      .artifacts_since = options.repeat.all && (options.run_id.empty() || !options.prepare.empty())
                             ? options.repeat.since
                             : std::nullopt,
      .limits = {.stall = parse_limit("--stall-timeout", options.stall_timeout),
                 .silence = parse_limit("--hang-timeout", options.hang_timeout),
                 .profiling = parse_limit("--profiling-time", options.profiling_time)},
      .idle_cores = options.idle_cores,
      .link_samples_per_s = options.link_samples_per_s,
      .capture = options.capture.options(),
      .connections = !options.no_connections,
      .worker_times = !options.no_worker_times,
      .tensorboard = options.tensorboard,
      .log_level = options.log_level,
      .command_line = arguments};
  check_captures(runs, sweep.capture);
  if (options.dry_run) {
    const CostOf unknown = [](const Run&) { return std::nullopt; };
    fmt::print("{}", format_plan(plan_rows(runs, unknown, this_machine())));
    return 0;
  }
  for (const std::string& others : options.reuse) {
    if (const std::size_t count = reuse_runs(runs, others, results, experiment.name))
      print_stderr("{} of {} runs copied from {}\n", count, runs.size(), others);
  }
  KeptRuns kept = options.prepare.empty()
                      ? find_kept(runs, results, sweep.repeat, early ? early->stop() : DigestsById{})
                      : KeptRuns(runs.size());
  if (const std::size_t count = apply_hold(runs, results, kept))
    print_stderr(
        "{} of {} runs are kept, and their times to the targets now count with the experiment's \"hold\"\n",
        count, runs.size());
  if (options.slurm.is_chosen()) {
    if (options.jobs > 1)
      throw InputError(
          {"--jobs", ""},
          "has no effect with --executor slurm, which decides how many runs there are at a time");
    if (!stop) stop.emplace();
    const SlurmOptions slurm{.command = without_slurm(arguments),
                             .sbatch_options = options.slurm.sbatch_options(),
                             .detach = options.slurm.detach};
    return finish(run_on_slurm(runs, std::move(kept), sweep, slurm, *stop));
  }
  require_machines(experiment, runs, kept);
  bool needs_sandbox = false;
  for (std::size_t i = 0; i < runs.size(); ++i)
    needs_sandbox = needs_sandbox || (!kept[i] && runs[i].needs_network);
  std::optional<ParallelControllers> beside;
  const bool has_work = std::ranges::any_of(kept, [](const auto& each) { return !each.has_value(); });
  if (options.jobs > 1 && has_work && !netem::inside_sandbox()) {
    check_jobs(runs, kept, trainer, options.jobs);
    beside.emplace(arguments, options.jobs - 1);
  }
  if (needs_sandbox && !netem::inside_sandbox()) {
    ::setenv(controller_pid_variable, std::to_string(::getpid()).c_str(), 1);
    pass_network_threads_to_sandbox();
    return netem::run_in_sandbox(arguments);
  }
  if (!stop) stop.emplace();
  read_network_threads();  // for the first time, before children are started
  if (!options.prepare.empty())
    return prepare_runs(runs, preparations.at(options.prepare), sweep, trainer, *stop) ? 0 : 1;
  return finish(run_sweep(runs, std::move(kept), sweep, trainer, *stop));
}

void add_run(CLI::App& program, Invocation& invocation) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App& command = *program.add_subcommand("run", "Run an experiment, except its runs that have ended");
  options->choice.add_to(command);
  command.add_option("--results", options->results, "Folder for the results")
      ->type_name("DIR")
      ->capture_default_str();
  command
      .add_option("--stall-timeout", options->stall_timeout,
                  "Give up a run if none of its workers reports progress for this long")
      ->type_name("DURATION")
      ->capture_default_str();
  command
      .add_option("--hang-timeout", options->hang_timeout,
                  "Give up a run if one of its workers sends no heartbeat for this long; workers send one "
                  "per second unless the machine is too busy")
      ->type_name("DURATION")
      ->capture_default_str();
  command
      .add_option("--profiling-time", options->profiling_time,
                  "Stop measuring a compute profile after this long, even if its mean is not yet within 1 %")
      ->type_name("DURATION")
      ->capture_default_str();
  add_idle_cores(command, options->idle_cores);
  command
      .add_option("--tensorboard", options->tensorboard,
                  "Write TensorBoard event files below this folder while the runs proceed: curve, iteration "
                  "time, link use")
      ->type_name("DIR");
  command
      .add_option("--link-samples", options->link_samples_per_s,
                  "Samples per second in each run's time series of the capped links, links.jsonl; 0: no "
                  "time series")
      ->check(CLI::Range(0.0, 100.0))
      ->type_name("NUMBER")
      ->capture_default_str();
  options->capture.add_to(command, "LINK.pcap in each run's folder");
  command.add_flag("--no-connections", options->no_connections,
                   "Do not sample the workers' TCP connections, which the record has as \"connections\"");
  command.add_flag("--no-worker-times", options->no_worker_times,
                   "Do not keep the times of all workers' iterations, workers.jsonl");
  command
      .add_option("--log-level", options->log_level,
                  "Verbosity of the logs in each run's folder: controller.log, worker-N.log")
      ->check(CLI::IsMember(log_levels()))
      ->capture_default_str();
  command
      .add_option("--jobs", options->jobs,
                  "Number of runs at a time; refused if they would disturb each other because this machine "
                  "has too few cores or too little memory")
      ->check(CLI::PositiveNumber)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--run", options->run_id, "Execute only the run with this id, of those that the plan lists")
      ->type_name("ID");
  command
      .add_option(
          "--prepare", options->prepare,
          "Execute nothing, but make what the runs share: their initial weights, or also their compute profiles "
          "and costs of communication (measurements); tasks of Slurm do so before those of the runs")
      ->check(CLI::IsMember({"weights", "measurements"}));
  options->slurm.add_to(command);
  command.add_flag("--fresh", options->repeat.all, "Repeat all runs");
  command.add_flag("--retry-failed", options->repeat.failed, "Repeat failed runs");
  command.add_flag("--retry-degraded", options->repeat.degraded,
                   "Repeat runs whose network was not faithful, for example because the machine was busy");
  command
      .add_option(
          "--reuse", options->reuse,
          "Copy runs of the same configuration from this folder of another experiment's results, instead "
          "of executing them; may be repeated")
      ->type_name("DIR")
      ->allow_extra_args(false)
      ->excludes("--fresh");
  command.add_flag("--dry-run", options->dry_run, "Check everything and print the plan, but start nothing");
  command.footer(
      "Examples:\n"
      "  thinpipe run experiments/quickstart.json\n"
      "  thinpipe run experiments/quickstart.json --only 'pactrain*' --set training.epochs=2\n"
      "  thinpipe run experiments/quickstart.json --repeat 5\n"
      "  thinpipe run experiments/quickstart.json --retry-failed\n"
      "  thinpipe run experiments/paper-table1.json --reuse results/bandwidth-by-prune-ratio\n"
      "  thinpipe run experiments/quickstart.json --tensorboard /tmp/live & tensorboard --logdir /tmp/live\n"
      "  thinpipe run experiments/quickstart.json --only dense --capture bottlenecks --capture-size '20 MB'\n"
      "  thinpipe run experiments/smoke-loopback.json --results /tmp/results --fresh\n"
      "  thinpipe run experiments/quickstart.json --executor slurm --partition cpu --time 30\n"
      "  thinpipe run experiments/quickstart.json --executor slurm --detach -- --mem=8G\n"
      "Exit codes: 0 all runs are complete; 1 a run failed or was interrupted (its record has the\n"
      "reason); 2 wrong input.");
  command.callback([options, &invocation] {
    invocation.action = [options, &invocation] { return run(*options, invocation.arguments); };
  });
}

THINPIPE_REGISTER(Command){1, add_run};

}  // namespace
}  // namespace thinpipe
