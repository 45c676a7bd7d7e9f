// Making the parts of a run from its configuration, the same way for training, pre-training and `check`.
#pragma once

#include "trainer/datasets/batch_loader.hh"
#include "trainer/datasets/dataset.hh"
#include "trainer/models/model.hh"
#include "trainer/pruning/mask.hh"
#include "trainer/pruning/pruning.hh"
#include "trainer/synchronisers/synchroniser.hh"
#include "trainer/training_config.hh"

namespace thinpipe::trainer {

// Where errors of a normalised configuration are: it has no file of its own any more.
inline const Place kConfigurationPlace{"configuration", ""};

// With random weights drawn from the configuration's seed, the same on every worker. Throws InputError, below
// `place`, when the model does not fit the data.
std::shared_ptr<Model> make_model(const TrainingConfig& config, const DataShape& shape,
                                  const Place& place = kConfigurationPlace);

std::unique_ptr<Dataset> make_dataset(const TrainingConfig& config);

// The data set of pre-training where the configuration names one, otherwise the data set itself.
std::unique_ptr<Dataset> make_pretraining_dataset(const TrainingConfig& config);

// Whether the run takes its starting weights without their classifier: where they were made elsewhere, by a
// file or by pre-training on another data set, and "head" is "new".
bool starts_with_new_head(const TrainingConfig& config);

// Forward, in the precision that the configuration asks for, and the loss that training minimises: a scalar.
torch::Tensor training_loss(const TrainingConfig& config, Model& model, const Batch& batch);

// Throws InputError where the method's integers cannot serve that many workers.
void check_workers(const TrainingConfig& config, const Synchroniser& synchroniser);

// The criterion and the schedule that the configuration asks for.
Pruning make_pruning(const TrainingConfig& config);

// What the configuration's criterion keeps of the model as it is when `ratio` of the weights are to go;
// in_force: what earlier pruning has left, null before the first. The batches it may look at come from the
// training data in the order of epoch 0.
Mask choose_mask(const TrainingConfig& config, Model& model, const Dataset& dataset, double ratio,
                 const Mask* in_force = nullptr);

// The mask of the first step: that of the schedule's ratio, or all weights where pruning begins later.
Mask choose_mask(const TrainingConfig& config, Model& model, const Dataset& dataset);

}  // namespace thinpipe::trainer
