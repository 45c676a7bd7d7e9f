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

ConvergenceFile read_convergence_file(const std::string& path) {
  const Json json = parse_json_file(path);
  JsonObject object(json, {path, ""});
  ConvergenceFile file;
  read_training(object, file.training);
  object.read("communication_trace", file.communication_trace);
  object.finish();
  return file;
}

bool converge(const ConvergenceFile& file, const EventSink& events) {
  const TrainingConfig& config = file.training.config;
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
  return train_in_process(file.training, events, work, write_trace);
}

}  // namespace thinpipe::trainer
