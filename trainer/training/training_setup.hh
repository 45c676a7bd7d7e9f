// SPDX-License-Identifier: Apache-2.0
// Creates the parts of a run from its configuration, in the same way for training, pre-training and `check`.
#pragma once

#include "trainer/base/tensor_map.hh"
#include "trainer/datasets/batch_loader.hh"
#include "trainer/datasets/dataset.hh"
#include "trainer/datasets/partitions/partition.hh"
#include "trainer/models/model.hh"
#include "trainer/optimisers/optimiser.hh"
#include "trainer/pruning/mask.hh"
#include "trainer/pruning/pruning.hh"
#include "trainer/synchronisers/synchroniser.hh"
#include "trainer/training/training_config.hh"

namespace thinpipe::trainer {

// The place of errors in a normalised configuration, which is no longer in a file.
inline const Place kConfigurationPlace{"configuration", ""};

// Creates the model with random weights drawn from the configuration's seed, the same on every worker. Throws
// InputError, below `place`, if the model does not fit the data.
std::shared_ptr<Model> make_model(const TrainingConfig& config, const DataShape& shape,
                                  const Place& place = kConfigurationPlace);

// Copies the initial weights into the model, except its head if starts_with_new_head(), and logs what was converted
// or ignored. Throws Error as load_weights() does.
void load_initial_weights(const TrainingConfig& config, Model& model, const TensorMap& initial_weights);

std::unique_ptr<Dataset> make_dataset(const TrainingConfig& config);

// Creates the data set of pre-training if the configuration names one, otherwise the run's data set.
std::unique_ptr<Dataset> make_pretraining_dataset(const TrainingConfig& config);

std::unique_ptr<Partition> make_partition(const TrainingConfig& config);

// Returns each worker's training examples; nullopt if the workers share all examples. Throws InputError if
// the data set's examples cannot be divided as configured.
std::optional<Parts> divide_examples(const TrainingConfig& config, const Dataset& dataset);

// Returns how worker 0 draws its batches if all workers share all examples, whatever the partition.
BatchSampler::Options shared_batch_options(const TrainingConfig& config, const Dataset& dataset);

// Returns how the worker of that rank draws its batches. Throws InputError as divide_examples() does.
BatchSampler::Options batch_options(const TrainingConfig& config, const Dataset& dataset, std::int64_t rank);

// Returns whether the run takes its initial weights without their classifier: if they come from a file or
// from pre-training on another data set, and "head" is "new".
bool starts_with_new_head(const TrainingConfig& config);

// Runs forward in the configured precision and returns the loss that training minimises: a scalar.
torch::Tensor training_loss(const TrainingConfig& config, Model& model, const Batch& batch);

// Throws InputError if the method cannot serve that many workers.
void check_workers(const TrainingConfig& config, const Synchroniser& synchroniser);

OptimisedParameters optimised_parameters_of(const Model& model);

// Creates the configured criterion and schedule.
Pruning make_pruning(const TrainingConfig& config);

// Returns the mask that the configured criterion chooses for the current model if `ratio` of the weights are
// to be removed. in_force: the mask of earlier pruning, null before the first. The criterion sees batches of
// the training data in the order of epoch 0.
Mask choose_mask(const TrainingConfig& config, Model& model, const Dataset& dataset, double ratio,
                 const Mask* in_force = nullptr);

// Returns the mask of the first step: with the schedule's ratio, or with all weights if pruning begins later.
Mask choose_mask(const TrainingConfig& config, Model& model, const Dataset& dataset);

}  // namespace thinpipe::trainer
