// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/convergence.hh"

#include "common/support/atomic_file.hh"

namespace thinpipe::trainer {
namespace {

std::vector<TracedParameter> traced_parameters(const Model& model) {
  std::vector<TracedParameter> out;
  for (const ParameterInfo& info : parameter_infos(model)) out.push_back({info.name, info.size});
  return out;
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
  std::vector<TraceRecorder> recorders(static_cast<std::size_t>(config.workers));
  CommunicationTrace trace{.world_size = static_cast<int>(config.workers), .configuration = to_json(config)};
  const auto work = [&](int rank, TrainingLoop& loop) {
    loop.measure_error();
    if (file.communication_trace) loop.record_calls(recorders[static_cast<std::size_t>(rank)]);
    loop.run();
    if (rank == 0) trace.parameters = traced_parameters(loop.model());
  };
  const auto write_trace = [&] {
    if (!file.communication_trace) return;
    TraceRecorder::finish(recorders, trace);
    write_atomically(*file.communication_trace, to_json(trace).dump() + "\n");
  };
  return train_in_process(training, events, work, write_trace);
}

}  // namespace thinpipe::trainer
