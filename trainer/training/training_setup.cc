// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/training_setup.hh"

#include <mutex>
#include <set>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "trainer/base/device.hh"
#include "trainer/models/loss.hh"
#include "trainer/tensors/weights.hh"

namespace thinpipe::trainer {
namespace {

// Returns the class or source of each training example; empty if they have none.
std::vector<std::int64_t> keys_of(const Dataset& dataset, DividedBy divided_by) {
  const torch::Tensor tensor = divided_by == DividedBy::sources ? dataset.sources() : dataset.train().labels;
  if (!tensor.defined() || tensor.dim() != 1) return {};
  const torch::Tensor numbers = tensor.to(torch::kInt64).contiguous();
  return {numbers.data_ptr<std::int64_t>(), numbers.data_ptr<std::int64_t>() + numbers.numel()};
}

}  // namespace

OptimisedParameters optimised_parameters_of(const Model& model) {
  std::set<std::string> hidden;
  for (const auto& [name, weight] : prunable_weights(model)) {
    if (name != model.head() + ".weight") hidden.insert(name);
  }
  OptimisedParameters parameters;
  for (const auto& parameter : model.named_parameters()) {
    parameters.all.push_back(parameter.value());
    parameters.is_hidden_weight.push_back(hidden.contains(parameter.key()));
  }
  return parameters;
}

std::shared_ptr<Model> make_model(const TrainingConfig& config, const DataShape& shape, const Place& place) {
  // Workers may be threads of one process, which share LibTorch's global generator.
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  torch::manual_seed(static_cast<std::uint64_t>(config.seed));
  return ModelRegistry::instance().make(config.model, place / "model", shape);
}

void load_initial_weights(const TrainingConfig& config, Model& model, const TensorMap& initial_weights) {
  const WeightRules rules{.head = model.head(), .new_head = starts_with_new_head(config)};
  for (const std::string& note : load_weights(model, initial_weights, "initial weights", rules))
    spdlog::info(note);
}

std::unique_ptr<Dataset> make_dataset(const TrainingConfig& config) {
  return DatasetRegistry::instance().make(config.dataset, kConfigurationPlace / "dataset", Files::read);
}

std::unique_ptr<Dataset> make_pretraining_dataset(const TrainingConfig& config) {
  if (config.pretraining_dataset.is_null()) return make_dataset(config);
  return DatasetRegistry::instance().make(config.pretraining_dataset,
                                          kConfigurationPlace / "pretraining" / "dataset", Files::read);
}

std::unique_ptr<Partition> make_partition(const TrainingConfig& config) {
  return PartitionRegistry::instance().make(config.partition, kConfigurationPlace / "partition");
}

std::optional<Parts> divide_examples(const TrainingConfig& config, const Dataset& dataset) {
  const std::unique_ptr<Partition> partition = make_partition(config);
  if (partition->divided_by() == DividedBy::nothing) return std::nullopt;
  return partition->divide(keys_of(dataset, partition->divided_by()), config.workers,
                           static_cast<std::uint64_t>(config.seed));
}

BatchSampler::Options shared_batch_options(const TrainingConfig& config, const Dataset& dataset) {
  return {.examples = dataset.train().size(),
          .batch_size_per_worker = config.training.batch_size_per_worker,
          .world_size = config.workers,
          .seed = static_cast<std::uint64_t>(config.seed)};
}

BatchSampler::Options batch_options(const TrainingConfig& config, const Dataset& dataset, std::int64_t rank) {
  BatchSampler::Options options = shared_batch_options(config, dataset);
  options.rank = rank;
  if (auto parts = divide_examples(config, dataset))
    options.own_part = std::move(parts->at(static_cast<std::size_t>(rank)));
  return options;
}

bool starts_with_new_head(const TrainingConfig& config) {
  const bool made_elsewhere = config.pretraining.iterations == 0 || !config.pretraining_dataset.is_null();
  return made_elsewhere && config.weights.head == "new";
}

torch::Tensor training_loss(const TrainingConfig& config, Model& model, const Batch& batch) {
  const Autocast autocast(config.compute.precision == "bfloat16");
  return cross_entropy(model.forward(batch.inputs), batch.labels, config.training.label_smoothing);
}

void check_workers(const TrainingConfig& config, const Synchroniser& synchroniser) {
  const std::int64_t multiple_of = synchroniser.workers_multiple_of();
  if (config.workers % multiple_of != 0) {
    throw InputError(
        kConfigurationPlace / "workers",
        fmt::format("must be a multiple of {}, because the synchroniser {} forms as many teams of "
                    "equally many workers, but is {}",
                    multiple_of, config.synchroniser.at("name").get<std::string>(), config.workers));
  }
  const std::optional<int> most = synchroniser.max_workers();
  if (!most || config.workers <= *most) return;
  throw InputError(kConfigurationPlace / "workers",
                   fmt::format("must be at most {}, because the synchroniser {} sums integers that cannot "
                               "hold more workers, but is {}",
                               *most, config.synchroniser.at("name").get<std::string>(), config.workers));
}

Pruning make_pruning(const TrainingConfig& config) {
  return make_pruning(config.pruning, kConfigurationPlace / "pruning");
}

Mask choose_mask(const TrainingConfig& config, Model& model, const Dataset& dataset, double ratio,
                 const Mask* in_force) {
  const PruningContext context{
      .dataset = dataset, .seed = static_cast<std::uint64_t>(config.seed), .in_force = in_force};
  return make_pruning(config).criterion->choose(model, context, ratio);
}

Mask choose_mask(const TrainingConfig& config, Model& model, const Dataset& dataset) {
  const auto ratio = make_pruning(config).schedule.due(0);
  return ratio ? choose_mask(config, model, dataset, *ratio) : Mask::keep_all(model);
}

}  // namespace thinpipe::trainer
