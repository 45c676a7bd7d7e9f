#include "harness/sweep.hh"

#include <fmt/format.h>

#include "harness/executors/local.hh"
#include "harness/progress.hh"
#include "harness/record.hh"
#include "harness/run.hh"
#include "harness/starting_weights.hh"
#include "netem/network.hh"

namespace thinpipe {

std::optional<Json> completed_record(const Run& run, const SweepOptions& options) {
  if (options.fresh) return std::nullopt;
  std::optional<Json> record = find_record(options.results / run.id / "run.json");
  if (!record || record->value("status", "") != "completed") return std::nullopt;
  // The same run under another name is the same run.
  record->update(
      {{"label", run.label},
       {"labels", Json(std::map<std::string, std::string>(run.labels.begin(), run.labels.end()))}});
  return record;
}

SweepResult run_sweep(const std::vector<Run>& runs, const SweepOptions& options,
                      const TrainerProgram& trainer, StopSignals& stop) {
  // A kernel that lacks what a later run needs is better heard of now.
  for (const Run& run : runs) {
    if (run.needs_network() && !completed_record(run, options))
      netem::check_kernel(run.topology, run.schedule);
  }
  LocalExecutor executor(trainer.path(), stop);
  StartingWeights weights(options.results / "starting-weights", options.fresh);
  Progress progress(runs.size());
  const RunContext context{.experiment = options.experiment,
                           .results = options.results,
                           .command_line = options.command_line,
                           .stall_timeout = options.stall_timeout,
                           .log_level = options.log_level,
                           .executor = executor,
                           .weights = weights,
                           .progress = progress};
  SweepResult result;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (stop.requested()) {
      result.all_well = false;
      break;
    }
    if (auto record = completed_record(runs[i], options)) {
      progress.note(fmt::format("[{}/{}] {}: completed earlier", i + 1, runs.size(), runs[i].label));
      result.records.push_back(*std::move(record));
      continue;
    }
    progress.begin(i, runs[i].label, runs[i].plan.at("iterations").get<std::int64_t>());
    result.records.push_back(execute_run(runs[i], context));
    progress.end(result.records.back());
    result.all_well = result.all_well && result.records.back().at("status") == "completed";
    if (result.records.back().at("status") == "interrupted") break;
  }
  return result;
}

}  // namespace thinpipe
