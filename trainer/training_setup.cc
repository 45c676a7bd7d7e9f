#include "trainer/training_setup.hh"

#include "trainer/datasets/batch_sampler.hh"
#include "trainer/pruning/criterion.hh"

namespace thinpipe::trainer {

std::shared_ptr<Model> make_model(const TrainingConfig& config, const DataShape& shape) {
  torch::manual_seed(static_cast<std::uint64_t>(config.seed));
  return ModelRegistry::instance().make(config.model, kConfigurationPlace / "model", shape);
}

std::unique_ptr<Dataset> make_dataset(const TrainingConfig& config) {
  return DatasetRegistry::instance().make(config.dataset, kConfigurationPlace / "dataset");
}

Mask choose_mask(const TrainingConfig& config, Model& model, const Dataset& dataset) {
  BatchSampler sampler({.examples = dataset.train().size(),
                        .batch_size_per_worker = config.training.batch_size_per_worker,
                        .seed = static_cast<std::uint64_t>(config.seed)});
  std::int64_t next = 0;
  const BatchSource batches = [&]() -> LabelledBatch {
    const torch::Tensor batch =
        sampler.batch(next / sampler.batches_per_epoch(), next % sampler.batches_per_epoch());
    ++next;
    const Examples& train = dataset.train();
    return {.images = dataset.normalise(train.images.index_select(0, batch)),
            .labels = train.labels.index_select(0, batch)};
  };
  return make_criterion(config.pruning, kConfigurationPlace / "pruning")->choose(model, batches);
}

}  // namespace thinpipe::trainer
