// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/check.hh"

#include <istream>
#include <map>
#include <numbers>
#include <numeric>
#include <optional>
#include <ostream>
#include <string>

#include <fmt/format.h>
#include <torch/cuda.h>

#include "common/support/conversation.hh"
#include "common/support/registry.hh"
#include "trainer/base/library_error.hh"
#include "trainer/collectives/backends/nccl.hh"
#include "trainer/commands/python_host.hh"
#include "trainer/commands/worker.hh"
#include "trainer/datasets/batch_sampler.hh"
#include "trainer/datasets/content_hash.hh"
#include "trainer/datasets/input_files.hh"
#include "trainer/exchange/gradient_exchange.hh"
#include "trainer/optimisers/optimiser.hh"
#include "trainer/pruning/pruning.hh"
#include "trainer/tensors/tensor_file.hh"
#include "trainer/tensors/weights.hh"
#include "trainer/training/model_fragments.hh"
#include "trainer/training/training_setup.hh"

namespace thinpipe::trainer {
namespace {

// A sweep's configurations mostly share their data, and often their model and its mask. The cache reads each
// data set once, and creates a model or a mask only if it differs from the previous one.
class Cache {
 public:
  const InputFiles::Data& data(const TrainingConfig& config) {
    return files_.data(config.dataset, Place{} / "dataset");
  }

  // Returns the hashes of the files and folders in the configuration, by the places of their paths. A run is
  // thus identified by the content of its data, not by their paths. Appends missing files to `missing`.
  Json content(const TrainingConfig& config, Json& missing) {
    Json out = Json::object();
    const auto add = [&](const Place& place, const auto& found) {
      out[place.pointer] = found.hash;
      if (found.missing) missing.push_back({{"pointer", place.pointer}, {"message", *found.missing}});
    };
    const auto add_data = [&](const Json& dataset, const Place& place) {
      const InputFiles::Data& found = files_.data(dataset, place);
      if (const char* key = InputFiles::path_key(dataset)) return add(place / key, found);
      // A function in a Python file may read files that no option names.
      if (names_script(dataset)) out[(place / "content").pointer] = found.hash;
      if (found.missing)
        missing.push_back({{"pointer", (place / "name").pointer}, {"message", *found.missing}});
    };
    add_data(config.dataset, Place{} / "dataset");
    if (config.pretraining.iterations > 0 && !config.pretraining_dataset.is_null()) {
      add_data(config.pretraining_dataset, Place{} / "pretraining" / "dataset");
    }
    if (config.weights.file) add(Place{} / "weights" / "file", files_.weights(*config.weights.file));
    // The hash of the data does not cover sources, which matter only here.
    if (make_partition(config)->divided_by() == DividedBy::sources && !data(config).missing) {
      out[(Place{} / "partition" / "sources").pointer] = content_hash(data(config).dataset->sources());
    }
    return out;
  }

  // Also reads the data of pre-training, if it has its own.
  void check_pretraining(const TrainingConfig& config) {
    if (config.pretraining_dataset.is_null()) return;
    files_.data(config.pretraining_dataset, Place{} / "pretraining" / "dataset");
  }

  Model& model(const TrainingConfig& config) {
    const TrainingConfig planned = with_seed_of_weights(config);
    const Json key = {planned.seed, config.model, config.dataset, write_options(config.weights)};
    if (key != model_key_) {
      model_.reset();  // before the next one is created: memory for one is enough
      model_key_ = nullptr;
      model_ = make_model(planned, data(config).dataset->shape(), {});
      if (config.weights.file && !files_.weights(*config.weights.file).missing) load_file(config);
      model_key_ = key;
      mask_.reset();
    }
    return *model_;
  }

  // Returns that model's mask at the final ratio of pruning.
  const Mask& final_mask(const TrainingConfig& config) {
    Model& pruned = model(config);
    if (!mask_ || config.pruning != pruning_) {
      mask_ = choose_mask(with_seed_of_weights(config), pruned, *data(config).dataset,
                          make_pruning(config).schedule.final_ratio());
      pruning_ = config.pruning;
    }
    return *mask_;
  }

 private:
  // Pre-trained weights are not known yet, and those of one seed stand for them: a sweep over seeds needs one model.
  static TrainingConfig with_seed_of_weights(TrainingConfig config) {
    if (config.pretraining.iterations > 0) config.seed = 1;
    return config;
  }

  // Weights for pre-training on other data may only fit a model of those data.
  void load_file(const TrainingConfig& config) {
    try {
      const TensorMap tensors = load_tensors(*config.weights.file);
      if (!config.pretraining_dataset.is_null()) return;
      load_weights(*model_, tensors, *config.weights.file,
                   WeightRules{.head = model_->head(), .new_head = config.weights.head == "new"});
    } catch (const std::exception& error) {
      throw InputError(Place{} / "weights" / "file", message_of(error));
    }
  }

  InputFiles files_;
  std::shared_ptr<Model> model_;
  Json model_key_;
  std::optional<Mask> mask_;
  Json pruning_;  // the options that the mask was made with
};

// Returns the layout in the most likely order of gradients: the model's last parameter first.
std::vector<Bucket> expected_layout(const TrainingConfig& config,
                                    const std::vector<ParameterInfo>& parameters,
                                    const Synchroniser& synchroniser) {
  std::vector<std::size_t> order(parameters.size());
  std::iota(order.rbegin(), order.rend(), 0U);
  return lay_out_buckets(parameters, order, synchroniser, config.buckets);
}

// "auto" becomes a tree if a tree reduces the load of the network.
NetworkShape expected_network(const TrainingConfig& config) {
  const auto name = config.collective.at("name").get<std::string>();
  return {.workers = static_cast<int>(config.workers), .sums_along_tree = name == "island" || name == "auto"};
}

const Place kSynchroniserPlace = kConfigurationPlace / "synchroniser";

SynchroniserContext context_of(const TrainingConfig& config, const Model& model, const Mask& mask) {
  return {.parameters = parameter_infos(model),
          .kept = kept_masks(model, mask),
          .weights = model.parameters(),
          .network = expected_network(config)};
}

std::unique_ptr<Synchroniser> make_synchroniser(const TrainingConfig& config,
                                                const SynchroniserContext& context) {
  return SynchroniserRegistry::instance().make(config.synchroniser, kSynchroniserPlace, context);
}

// Returns the traffic of an exchange of all parameters, in as many fragments as the method makes of them.
ExpectedTraffic expected_traffic(const TrainingConfig& config, const Model& model, const Mask& mask) {
  const SynchroniserContext whole = context_of(config, model, mask);
  const auto side_synchroniser =
      SynchroniserRegistry::instance().make({{"name", "dense"}}, kConfigurationPlace, {});
  const std::int64_t fragments = make_synchroniser(config, whole)->fragments().count;
  ExpectedTraffic traffic;
  for (const auto& parameters : fragments_of(whole.parameters, fragments, kSynchroniserPlace / "fragments")) {
    const SynchroniserContext part = part_of(whole, parameters);
    const auto synchroniser = make_synchroniser(config, part);
    const std::vector<Bucket> layout = expected_layout(config, part.parameters, *synchroniser);
    synchroniser->prepare(layout);
    for (const Bucket& bucket : layout) {
      traffic += (bucket.side ? side_synchroniser : synchroniser)
                     ->steady_state_traffic(bucket, static_cast<int>(config.workers));
    }
    if (synchroniser->senses_network()) traffic += observation_traffic(static_cast<int>(config.workers));
  }
  return traffic;
}

// Returns the sizes of the buckets that are exchanged during backward; one size for all if the
// method has local steps.
Json bucket_bytes(const TrainingConfig& config, const Model& model, const Synchroniser& synchroniser) {
  Json out = Json::array();
  std::int64_t total = 0;
  for (const Bucket& bucket : expected_layout(config, parameter_infos(model), synchroniser)) {
    out.push_back(4 * bucket.size);
    total += 4 * bucket.size;
  }
  return synchroniser.local_steps() ? Json::array({total}) : out;
}

// The loss is per token, and the target per byte.
void check_bits_per_byte(const Target& target, const DataShape& shape, const Place& place) {
  if (!shape.bytes_per_token) {
    throw InputError(place,
                     "needs the number of bytes per token, which is unknown: add \"bytes_per_token\" to the "
                     "data's meta.json, or use the target test_loss, in nats per token");
  }
  if (*shape.bytes_per_token == 1) return;
  throw InputError(
      place, fmt::format("is for tokens of one byte, but these have {:.4g} on average: use the target "
                         "{{\"test_loss\": {:.6g}}}, in nats per token, which is the same",
                         *shape.bytes_per_token, target.value * std::numbers::ln2 * *shape.bytes_per_token));
}

void check_targets(const TrainingConfig& config, const Dataset& dataset) {
  for (std::size_t i = 0; i < config.targets.size(); ++i) {
    const Target& target = config.targets[i];
    const bool is_per_byte = target.metric == Target::Metric::bits_per_byte;
    if (!is_per_byte && target.metric != Target::Metric::perplexity) continue;
    const Place place = Place{} / "targets" / i / name_of(target.metric);
    const DataShape shape = dataset.shape();
    if (!shape.is_text())
      throw InputError(place,
                       "is for text, but the data set has images: use the target accuracy or test_loss");
    if (is_per_byte) check_bits_per_byte(target, shape, place);
  }
}

// If a method accumulates gradients over steps, the optimiser must not apply momentum a second time.
void check_momentum(const TrainingConfig& config, const Synchroniser& synchroniser) {
  if (!synchroniser.properties().applies_momentum) return;
  const std::string remedy = fmt::format("because the synchroniser {} applies momentum itself",
                                         config.synchroniser.at("name").get<std::string>());
  const Place place = kConfigurationPlace / "optimiser";
  if (config.optimiser.at("name") != "sgd") throw InputError(place / "name", "must be sgd, " + remedy);
  if (config.optimiser.at("momentum") != 0) throw InputError(place / "momentum", "must be 0, " + remedy);
}

void check_clipping(const TrainingConfig& config, const Synchroniser& synchroniser) {
  if (!config.training.clip_norm || synchroniser.clipping() != Clipping::none) return;
  throw InputError(kConfigurationPlace / "training" / "clip_norm",
                   fmt::format("must be null, because the synchroniser {} uses signs, which do not depend on "
                               "the gradient's length",
                               config.synchroniser.at("name").get<std::string>()));
}

// A schedule for a longer run would be in the record, but not in the training.
void check_schedule_acts(const TrainingConfig& config, std::int64_t iterations) {
  const Place place = kConfigurationPlace / "schedule";
  const ScheduleOptions& schedule = config.schedule;
  if (schedule.warmup_iterations >= iterations) {
    throw InputError(place / "warmup_iterations",
                     fmt::format("must be less than {}, the iterations of the run, but is {}; set a smaller "
                                 "one, or train for more epochs",
                                 iterations, schedule.warmup_iterations));
  }
  if (!schedule.step_epochs.empty() &&
      schedule.step_epochs.back() >= static_cast<double>(config.training.epochs)) {
    throw InputError(
        place / "step_epochs",
        fmt::format("must be less than {}, the epochs of the run, but the last is {}; remove it, "
                    "or train for more epochs",
                    config.training.epochs, schedule.step_epochs.back()));
  }
}

// Between two exchanges the workers' weights differ, so that no common model can be evaluated or compared.
void check_rounds(const TrainingConfig& config, std::int64_t local_steps) {
  const auto check = [&](const char* key, std::int64_t interval) {
    if (interval % local_steps == 0) return;
    throw InputError(
        kConfigurationPlace / "training" / key,
        fmt::format("must be a multiple of {}, the local steps of the synchroniser {}, because the workers' "
                    "weights differ in between, but is {}",
                    local_steps, config.synchroniser.at("name").get<std::string>(), interval));
  };
  check("evaluate_every_iterations", config.training.evaluate_every_iterations);
  check("check_replicas_every_iterations", config.training.check_replicas_every_iterations);
}

// Returns the number of exchanges of all parameters in that many iterations, with an exchange of a fragment as a part
// of one. The last iteration ends with an exchange, unless one is in flight then: see LocalRounds.
double exchanges_in(std::int64_t iterations, const Synchroniser& synchroniser) {
  const FragmentSchedule fragments = synchroniser.fragments();
  const std::int64_t interval = synchroniser.local_steps().value_or(1) / fragments.count;
  const std::int64_t begun_before = (iterations - 1) / interval;
  const bool is_in_flight =
      begun_before > 0 && begun_before * interval + fragments.overlap_steps >= iterations;
  return static_cast<double>(begun_before + (is_in_flight ? 0 : 1)) / static_cast<double>(fragments.count);
}

// Returns the mean traffic over a run's steps. Traffic is linear in the number of kept weights, and that
// number in the schedule's ratio, so that one mask is enough for a whole ramp.
ExpectedTraffic mean_traffic(const TrainingConfig& config, Cache& cache, std::int64_t iterations) {
  const Model& model = cache.model(config);
  const PruningSchedule schedule = make_pruning(config).schedule;
  const auto whole = [&] { return expected_traffic(config, model, Mask::keep_all(model)); };
  if (schedule.final_ratio() == 0) return whole();
  if (schedule.end() >= iterations) {
    throw InputError(
        Place{} / "pruning" / "at_iteration",
        fmt::format("pruning ends after {} steps, but the run has only {}; set a smaller at_iteration, or "
                    "train for more epochs",
                    schedule.end(), iterations));
  }
  const ExpectedTraffic pruned = expected_traffic(config, model, cache.final_mask(config));
  const double share = schedule.mean_share(iterations);
  return share == 1 ? pruned : share * pruned + (1 - share) * whole();
}

// Returns the traffic to the worker one rank further, two ranks further and so on, among all workers.
Json by_distance(const ExpectedTraffic& traffic, std::int64_t workers) {
  if (traffic.shifted_bytes.empty()) return Json::array();
  std::vector<double> bytes(static_cast<std::size_t>(workers - 1), 0.0);
  for (const auto& [shift, shifted] : traffic.shifted_bytes) {
    if (shift.group == workers) bytes[static_cast<std::size_t>(shift.distance - 1)] = shifted;
  }
  return bytes;
}

// Returns the traffic within groups of some of the workers.
Json within_groups(const ExpectedTraffic& traffic, std::int64_t workers) {
  Json out = Json::array();
  for (const auto& [shift, bytes] : traffic.shifted_bytes) {
    if (shift.group == workers) continue;
    out.push_back({{"workers", shift.group}, {"distance", shift.distance}, {"bytes", bytes}});
  }
  return out;
}

Json plan(const TrainingConfig& config, Cache& cache) {
  const Dataset& dataset = *cache.data(config).dataset;
  check_targets(config, dataset);
  const Model& model = cache.model(config);
  const auto synchroniser = make_synchroniser(config, context_of(config, model, Mask::keep_all(model)));
  check_momentum(config, *synchroniser);
  check_clipping(config, *synchroniser);
  check_workers(config, *synchroniser);
  if (const auto local_steps = synchroniser->local_steps()) check_rounds(config, *local_steps);
  // The number of iterations does not depend on the partition, which needs labels.
  const BatchSampler sampler(cache.data(config).is_outline() ? shared_batch_options(config, dataset)
                                                             : batch_options(config, dataset, 0));
  std::int64_t parameters = 0;
  for (const ParameterInfo& info : parameter_infos(model)) parameters += info.size;
  const std::int64_t iterations = config.training.epochs * sampler.batches_per_epoch();
  check_schedule_acts(config, iterations);
  const double exchanges_per_iteration =
      exchanges_in(iterations, *synchroniser) / static_cast<double>(iterations);
  const ExpectedTraffic traffic = exchanges_per_iteration * mean_traffic(config, cache, iterations);
  const std::int64_t every = config.training.evaluate_every_iterations;
  return {
      {"parameters", parameters},
      {"gradient_bytes", 4 * parameters},
      {"bucket_bytes", bucket_bytes(config, model, *synchroniser)},
      {"iterations_per_exchange", synchroniser->local_steps().value_or(1) / synchroniser->fragments().count},
      {"overlap_iterations", synchroniser->fragments().overlap_steps},
      {"senses_network", synchroniser->senses_network()},
      {"iterations", iterations},
      {"evaluations", 1 + (iterations + every - 1) / every},
      {"all_reduce_compatible", synchroniser->properties().all_reduce_compatible},
      {"payload_bytes_per_iteration", traffic.payload_bytes},
      {"sent_bytes_per_iteration", traffic.sent_bytes},
      {"pairwise_bytes_per_iteration", traffic.pairwise_bytes},
      {"gathered_bytes_per_iteration", traffic.gathered_bytes},
      {"broadcast_bytes_per_iteration", traffic.broadcast_bytes},
      {"delivered_bytes_per_iteration", traffic.delivered_bytes},
      {"shifted_bytes_per_iteration", by_distance(traffic, config.workers)},
      {"group_shifts_per_iteration", within_groups(traffic, config.workers)},
      {"codes_per_iteration", traffic.codes},
      {"largest_code", traffic.largest_code}};
}

template <class SomeRegistry>
Json describe_registry() {
  Json out = Json::object();
  for (const auto& [name, entry] : SomeRegistry::instance().entries()) {
    out[name] = {{"summary", entry.summary}, {"options", entry.options}};
  }
  return out;
}

// Returns the devices that this machine lacks.
Json missing_devices(const TrainingConfig& config) {
  Json missing = Json::array();
  if (config.compute.device == "cuda" && !torch::cuda::is_available()) {
    missing.push_back(
        {{"pointer", "/compute/device"},
         {"message",
          "is cuda, but LibTorch finds no GPU here: use cpu, or a LibTorch with CUDA on a machine with a GPU "
          "(`thinpipe doctor` reports what it finds)"}});
  }
  if (config.collective.at("name") == "nccl") {
    if (const auto obstacle = obstacle_to_nccl())
      missing.push_back({{"pointer", "/collective/name"}, {"message", *obstacle}});
  }
  return missing;
}

// Without the data, sizes may be known but gradients cannot be computed.
bool can_plan(const TrainingConfig& config, Cache& cache) {
  const InputFiles::Data& data = cache.data(config);
  if (!data.missing) return true;
  const Pruning pruning = make_pruning(config);
  return data.is_outline() && (pruning.schedule.final_ratio() == 0 || !pruning.criterion->looks_at_data());
}

Json check_configuration(const Json& value, Cache& cache) {
  try {
    const TrainingConfig config = parse_training_config(value, {});
    const Json expected = can_plan(config, cache) ? plan(config, cache) : Json(nullptr);
    cache.check_pretraining(config);
    Json missing = missing_devices(config);
    Json content = cache.content(config, missing);
    return {{"ok", true},
            {"config", to_json(config)},
            {"plan", expected},
            {"content", std::move(content)},
            {"missing", std::move(missing)}};
  } catch (const InputError& error) {
    return {{"ok", false}, {"pointer", error.place().pointer}, {"message", error.message()}};
  } catch (const std::exception& error) {
    // A combination that no single option's rule excludes: a batch larger than the data set,
    // an image too small.
    return {{"ok", false}, {"pointer", ""}, {"message", message_of(error)}};
  }
}

}  // namespace

Json check_configurations(const Json& configurations) {
  Cache cache;
  Json answers = Json::array();
  for (const Json& value : configurations) answers.push_back(check_configuration(value, cache));
  return answers;
}

void check_lines(std::istream& in, std::ostream& out) {
  Cache cache;
  std::optional<Conversation> python;
  for (std::string line; std::getline(in, line);) {
    const Json value = parse_json(line, "standard input");
    if (!needs_python_host(value)) {
      out << check_configuration(value, cache).dump() << std::endl;
      continue;
    }
    if (!python) python.emplace(in_python({"check", "--lines"}));
    try {
      out << python->ask(line) << std::endl;
    } catch (const Error& error) {
      throw Error(fmt::format("{}{}", error.what(), remedy_for_python()));
    }
  }
}

Json describe() {
  return {{"synchronisers", describe_registry<SynchroniserRegistry>()},
          {"models", describe_registry<ModelRegistry>()},
          {"datasets", describe_registry<DatasetRegistry>()},
          {"partitions", describe_registry<PartitionRegistry>()},
          {"collectives", describe_registry<CollectiveRegistry>()},
          {"optimisers", describe_registry<OptimiserRegistry>()},
          {"pruning", describe_registry<PruningRegistry>()},
          {"configuration", describe_training_config()},
          {"cuda_devices", torch::cuda::device_count()},
          {"libraries", library_versions()}};
}

}  // namespace thinpipe::trainer
