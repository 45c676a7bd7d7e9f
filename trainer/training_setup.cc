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

Mask choose_mask(const TrainingConfig& config, Model& model, const Dataset& dataset) {
  const PruningContext context{.dataset = dataset, .seed = static_cast<std::uint64_t>(config.seed)};
  return make_criterion(config.pruning, kConfigurationPlace / "pruning")->choose(model, context);
}

}  // namespace thinpipe::trainer
