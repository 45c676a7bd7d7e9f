#include "trainer/training_setup.hh"

#include "trainer/pruning/criterion.hh"

namespace thinpipe::trainer {

std::shared_ptr<Model> make_model(const TrainingConfig& config, const DataShape& shape, const Place& place) {
  torch::manual_seed(static_cast<std::uint64_t>(config.seed));
  return ModelRegistry::instance().make(config.model, place / "model", shape);
}

std::unique_ptr<Dataset> make_dataset(const TrainingConfig& config) {
  return DatasetRegistry::instance().make(config.dataset, kConfigurationPlace / "dataset");
}

std::unique_ptr<Dataset> make_pretraining_dataset(const TrainingConfig& config) {
  if (config.pretraining_dataset.is_null()) return make_dataset(config);
  return DatasetRegistry::instance().make(config.pretraining_dataset,
                                          kConfigurationPlace / "pretraining" / "dataset");
}

bool starts_with_new_head(const TrainingConfig& config) {
  const bool made_elsewhere = config.pretraining.iterations == 0 || !config.pretraining_dataset.is_null();
  return made_elsewhere && config.weights.head == "new";
}

Mask choose_mask(const TrainingConfig& config, Model& model, const Dataset& dataset) {
  const PruningContext context{.dataset = dataset, .seed = static_cast<std::uint64_t>(config.seed)};
  return make_criterion(config.pruning, kConfigurationPlace / "pruning")->choose(model, context);
}

}  // namespace thinpipe::trainer
