// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/convergence.hh"

#include <fmt/format.h>

#include "common/support/atomic_file.hh"

namespace thinpipe::trainer {
namespace {

std::vector<TracedParameter> traced_parameters(const Model& model) {
  std::vector<TracedParameter> out;
  for (const ParameterInfo& info : parameter_infos(model)) out.push_back({info.name, info.size});
  return out;
}

// Returns the path of the trace of the steps before that checkpoint, in its folder.
std::string trace_until(const ConvergeFile& file, std::int64_t iteration) {
  return fmt::format("{}/trace.iteration-{}.json", file.interruption->directory, iteration);
}

// Returns a recorder for each worker, which knows the steps before the checkpoint.
std::vector<TraceRecorder> recorders_of(const InProcessTraining& training) {
  const ConvergeFile& file = training.file;
  const auto workers = static_cast<std::size_t>(training.config.workers);
  if (!file.communication_trace || !file.interruption || !file.interruption->resume_after)
    return std::vector<TraceRecorder>(workers);
  const CommunicationTrace earlier = load_trace(trace_until(file, *file.interruption->resume_after));
  std::vector<TraceRecorder> recorders;
  for (std::size_t rank = 0; rank < workers; ++rank) recorders.emplace_back(earlier, rank);
  return recorders;
}

}  // namespace

InProcessTraining read_convergence_file(const std::string& path) {
  auto file = load_worker_file<ConvergeFile>(path);
  auto config = parse_training_config(file.config, {path, "/config"});
  check_tree(file.reduction_tree, config.workers, {path, "/reduction_tree"});
  return {.file = std::move(file), .config = std::move(config)};
}

bool converge(const InProcessTraining& training, const EventSink& events) {
  const ConvergeFile& file = training.file;
  const TrainingConfig& config = training.config;
  std::vector<TraceRecorder> recorders = recorders_of(training);
  CommunicationTrace trace{.world_size = static_cast<int>(config.workers), .configuration = to_json(config)};
  const auto work = [&](int rank, TrainingLoop& loop) {
    loop.measure_error();
    if (file.communication_trace) loop.record_calls(recorders[static_cast<std::size_t>(rank)]);
    const auto stopped_after = loop.run();
    if (rank == 0) trace.parameters = traced_parameters(loop.model());
    return stopped_after;
  };
  const auto write_trace = [&](std::optional<std::int64_t> stopped_after) {
    if (!file.communication_trace) return;
    TraceRecorder::finish(recorders, trace);
    write_atomically(stopped_after ? trace_until(file, *stopped_after) : *file.communication_trace,
                     to_json(trace).dump() + "\n");
  };
  return train_in_process(training, events, work, write_trace);
}

}  // namespace thinpipe::trainer
