#include "trainer/commands/in_process_training.hh"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include "common/support/log.hh"
#include "trainer/base/process.hh"
#include "trainer/collectives/backends/in_process.hh"
#include "trainer/commands/worker.hh"
#include "trainer/datasets/content_hash.hh"
#include "trainer/tensors/tensor_file.hh"
#include "trainer/tensors/weights.hh"
#include "trainer/training/heartbeat.hh"
#include "trainer/training/parents.hh"
#include "trainer/training/training_setup.hh"

namespace thinpipe::trainer {

void read_training(JsonObject& object, InProcessTraining& training) {
  std::int64_t schema_version = 0;
  object.read("schema_version", schema_version, {.at_least = 1, .at_most = 1, .required = true});
  object.read("starting_weights", training.starting_weights);
  object.read("log_level", training.log_level, {.one_of = log_levels()});
  training.config = parse_training_config(object.get("config"), object.place_of("config"));
  training.parents = read_parents(object, training.config.workers);
}

bool train_in_process(const InProcessTraining& training, const EventSink& events,
                      const std::function<void(int rank, TrainingLoop& loop)>& work,
                      const std::function<void()>& finish) {
  spdlog::set_default_logger(make_log_to_standard_error(training.log_level));
  Pulse pulse;
  const Heartbeat heartbeat(pulse, events);
  events(event::Started{.pid = ::getpid(), .libraries = library_versions()});
  try {
    compute_on_one_thread();
    const std::unique_ptr<Dataset> dataset = make_dataset(training.config);
    events(event::Dataset{.hash = content_hash(*dataset)});
    const TensorMap weights =
        training.starting_weights ? load_tensors(*training.starting_weights) : TensorMap{};
    const auto work_as = [&](std::unique_ptr<Collective> member) {
      const int rank = member->rank();
      const EventSink rank_0_only = rank == 0 ? events : [](const Event&) {};
      TrainingLoop loop(training.config, *dataset, std::move(member), weights, {}, rank_0_only,
                        rank == 0 ? &pulse : nullptr);
      work(rank, loop);
    };
    run_in_process(static_cast<int>(training.config.workers), training.parents, work_as);
    finish();
    events(event::Finished{});
    return true;
  } catch (const std::exception& error) {
    report_failure(events, error);
    return false;
  }
}

}  // namespace thinpipe::trainer
