#include "trainer/commands/worker.hh"

#include <limits>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <torch/version.h>
#include <unistd.h>

#include "common/support/log.hh"
#include "trainer/base/library_error.hh"
#include "trainer/base/process.hh"
#include "trainer/collectives/agreement.hh"
#include "trainer/collectives/backends/gloo.hh"
#include "trainer/collectives/backends/nccl/nccl_group.hh"
#include "trainer/datasets/content_hash.hh"
#include "trainer/tensors/tensor_file.hh"
#include "trainer/training/heartbeat.hh"
#include "trainer/training/parents.hh"
#include "trainer/training/training_setup.hh"

namespace thinpipe::trainer {
namespace {

std::string_view kind_of(const std::exception& error) {
  if (dynamic_cast<const NonFiniteError*>(&error) != nullptr) return "non_finite";
  if (dynamic_cast<const DivergenceError*>(&error) != nullptr) return "divergence";
  if (dynamic_cast<const CollectiveError*>(&error) != nullptr) return "collective";
  if (dynamic_cast<const InputError*>(&error) != nullptr) return "input";
  return "internal";
}

}  // namespace

void read_membership(JsonObject& object, Membership& membership) {
  std::int64_t rank = 0;
  std::int64_t world_size = 0;
  object.read("rank", rank, {.at_least = 0, .required = true});
  object.read(
      "world_size", world_size,
      {.above = static_cast<double>(rank), .at_most = std::numeric_limits<int>::max(), .required = true});
  object.read("address", membership.address, {.required = true});
  object.read("rendezvous_directory", membership.rendezvous_directory, {.required = true});
  membership.parents = read_parents(object, world_size);
  membership.rank = static_cast<int>(rank);
  membership.world_size = static_cast<int>(world_size);
}

void read_worker(JsonObject& object, WorkerFile& worker) {
  std::int64_t schema_version = 0;
  object.read("schema_version", schema_version, {.at_least = 1, .at_most = 1, .required = true});
  read_membership(object, worker.membership);
  object.read("starting_weights", worker.starting_weights);
  object.read("log_level", worker.log_level, {.one_of = log_levels()});
  worker.config = parse_training_config(object.get("config"), object.place_of("config"));
}

WorkerFile read_worker_file(const std::string& path) {
  const Json json = parse_json_file(path);
  JsonObject object(json, {path, ""});
  WorkerFile worker;
  read_worker(object, worker);
  if (const Json* checkpoint = object.find("checkpoint"); checkpoint != nullptr && !checkpoint->is_null()) {
    JsonObject options(*checkpoint, object.place_of("checkpoint"));
    options.read("directory", worker.checkpoint.directory, {.required = true});
    options.read("every_iterations", worker.checkpoint.every_iterations, {.at_least = 1, .required = true});
    options.finish();
  }
  if (const Json* slowdowns = object.find("slowdowns")) {
    worker.slowdowns = read_slowdowns(*slowdowns, object.place_of("slowdowns"));
  }
  object.read("report_iteration_starts", worker.report_iteration_starts);
  object.finish();
  return worker;
}

void report_failure(const EventSink& events, const std::exception& error) {
  spdlog::error("{}: {}", kind_of(error), error.what());
  events(event::Failed{.kind = std::string(kind_of(error)), .message = message_of(error)});
}

bool work(const WorkerFile& worker, const EventSink& events,
          const std::function<void(TrainingLoop&)>& train) {
  const int rank = worker.membership.rank;
  spdlog::set_default_logger(make_log_to_standard_error(worker.log_level));
  spdlog::info("worker {} of {}, process {}, at {}", rank, worker.membership.world_size, ::getpid(),
               worker.membership.address);
  Pulse pulse;
  const Heartbeat heartbeat(pulse, events);
  events(event::Started{.pid = ::getpid(), .libraries = library_versions()});
  try {
    compute_on_one_thread();
    const std::unique_ptr<Dataset> dataset = make_dataset(worker.config);
    spdlog::info("loaded the data set: {} training examples, {} test examples", dataset->train().size(),
                 dataset->test().size());
    const TensorMap weights = worker.starting_weights ? load_tensors(*worker.starting_weights) : TensorMap{};
    const EventSink rank_0_only = rank == 0 ? events : [](const Event&) {};
    if (rank == 0) events(event::Dataset{.hash = content_hash(*dataset)});
    auto network = CollectiveRegistry::instance().make(worker.config.collective,
                                                       kConfigurationPlace / "collective", worker.membership);
    TrainingLoop loop(worker.config, *dataset, std::move(network), weights, worker.checkpoint, rank_0_only,
                      &pulse, worker.slowdowns);
    if (worker.report_iteration_starts) loop.report_starts();
    spdlog::info("weights, mask and buckets are the same on all workers");
    // Only now, because the communication threads keep the priority with which they were started.
    lower_this_threads_priority();
    try {
      train(loop);
    } catch (const std::exception& error) {
      // Reports immediately, because the loop's destructor may wait for an exchange that is stuck.
      report_failure(events, error);
      return false;
    }
    spdlog::info("finished");
    events(event::Finished{.peak_memory_bytes = peak_memory_bytes()});
    return true;
  } catch (const std::exception& error) {
    report_failure(events, error);
    return false;
  }
}

Json library_versions() {
  Json versions = {{"libtorch", TORCH_VERSION}, {"gloo", gloo_version()}, {"gloo_file", gloo_library_path()}};
  if (const auto nccl = nccl_version()) versions["nccl"] = *nccl;
  return versions;
}

}  // namespace thinpipe::trainer
