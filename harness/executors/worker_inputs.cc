#include "harness/executors/worker_inputs.hh"

#include <fmt/format.h>

#include "common/protocol/trace.hh"
#include "harness/plan/worker_events.hh"
#include "harness/records/record.hh"

namespace thinpipe {

namespace fs = std::filesystem;

WorkerCommand WorkerInputs::training(std::int64_t rank, const netem::Host& host) const {
  const Json checkpoint = run_.on_worker_failure.restarts()
                              ? Json{{"directory", checkpoints().string()},
                                     {"every_iterations", run_.on_worker_failure.checkpoint_every_iterations}}
                              : Json(nullptr);
  Json told = {{"starting_weights", starting_weights_},
               {"checkpoint", checkpoint},
               {"slowdowns", slowdowns_of(run_.worker_events, rank)},
               {"report_iteration_starts", run_.schedule.follows_train_time()},
               {"config", worker_config(run_)}};
  if (const auto& method = run_.other_trainer.method) told["method"] = *method;
  WorkerCommand command = at_host(rank, host, "work", std::move(told));
  command.program = run_.trainer.value_or(fs::path());
  return command;
}

WorkerCommand WorkerInputs::replaying(std::int64_t rank, const netem::Host& host, const fs::path& trace,
                                      const fs::path& profile) const {
  return at_host(rank, host, "replay",
                 {{"communication_trace", trace.string()},
                  {"compute_profile", profile.string()},
                  {"computing", run_.computing()},
                  {"collective", worker_config(run_).at("collective")}});
}

WorkerCommand WorkerInputs::profiling(std::int64_t rank, const netem::Host& host, Seconds longest,
                                      const fs::path& output) const {
  return at_host(rank, host, "profile",
                 {{"starting_weights", starting_weights_},
                  {"config", worker_config(run_)},
                  {"longest_s", longest.count()},
                  {"output", output.string()}});
}

WorkerCommand WorkerInputs::converging() const {
  const fs::path input = folder_ / "converge.json";
  write_atomically(input, record_text({{"schema_version", record_schema_version},
                                       {"starting_weights", starting_weights_},
                                       {"communication_trace", (folder_ / trace_file_name).string()},
                                       {"parents", run_.reduction_tree},
                                       {"log_level", log_level_},
                                       {"config", run_.training->config}}));
  return {.rank = 0, .command = "converge", .input = input, .log = folder_ / "workers.log"};
}

// Told who it is among which others, and `more`.
WorkerCommand WorkerInputs::at_host(std::int64_t rank, const netem::Host& host, const char* command,
                                    Json more) const {
  const fs::path input = folder_ / fmt::format("worker-{}.json", rank);
  more.update({{"schema_version", record_schema_version},
               {"rank", rank},
               {"world_size", run_.workers},
               {"address", host.address},
               {"rendezvous_directory", rendezvous().string()},
               {"parents", run_.reduction_tree},
               {"log_level", log_level_}});
  write_atomically(input, record_text(more));
  return {.rank = rank,
          .command = command,
          .input = input,
          .log = folder_ / fmt::format("worker-{}.log", rank),
          .before_exec = [&host] { host.enter(); }};
}

}  // namespace thinpipe
