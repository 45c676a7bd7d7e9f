#include "trainer/convergence.hh"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include "harness/support/log.hh"
#include "trainer/collectives/in_process.hh"
#include "trainer/content_hash.hh"
#include "trainer/heartbeat.hh"
#include "trainer/process.hh"
#include "trainer/training_setup.hh"
#include "trainer/weights.hh"
#include "trainer/worker.hh"

namespace thinpipe::trainer {

ConvergenceFile read_convergence_file(const std::string& path) {
  const Json json = parse_json_file(path);
  JsonObject object(json, {path, ""});
  std::int64_t schema_version = 0;
  ConvergenceFile file;
  object.read("schema_version", schema_version, {.at_least = 1, .at_most = 1, .required = true});
  object.read("starting_weights", file.starting_weights);
  object.read("log_level", file.log_level, {.one_of = log_levels()});
  file.config = parse_training_config(object.get("config"), object.place_of("config"));
  object.finish();
  return file;
}

bool converge(const ConvergenceFile& file, const EventSink& events) {
  spdlog::set_default_logger(make_log_to_standard_error(file.log_level));
  Pulse pulse;
  const Heartbeat heartbeat(pulse, events);
  events({{"event", "started"}, {"rank", 0}, {"pid", ::getpid()}, {"libraries", library_versions()}});
  try {
    compute_on_one_thread();
    const std::unique_ptr<Dataset> dataset = make_dataset(file.config);
    events({{"event", "dataset"}, {"hash", content_hash(*dataset)}});
    const TensorMap weights = file.starting_weights ? load_tensors(*file.starting_weights) : TensorMap{};
    run_in_process(static_cast<int>(file.config.workers), [&](std::unique_ptr<Collective> member) {
      const bool is_first = member->rank() == 0;
      const EventSink rank_0_only = is_first ? events : [](const Json&) {};
      TrainingLoop loop(file.config, *dataset, std::move(member), weights, {}, rank_0_only,
                        is_first ? &pulse : nullptr);
      loop.measure_error();
      loop.run();
    });
    events({{"event", "finished"}, {"rank", 0}});
    return true;
  } catch (const std::exception& error) {
    report_failure(events, 0, error);
    return false;
  }
}

}  // namespace thinpipe::trainer
