// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/planning/planned_models.hh"

#include <utility>

#include "common/support/registry.hh"
#include "trainer/base/library_error.hh"
#include "trainer/datasets/content_hash.hh"
#include "trainer/tensors/tensor_file.hh"
#include "trainer/tensors/weights.hh"
#include "trainer/training/training_setup.hh"

namespace thinpipe::trainer {
namespace {

// Pre-trained weights are not known yet, and those of one seed stand for them: a sweep over seeds needs one model.
TrainingConfig with_seed_of_weights(TrainingConfig config) {
  if (config.pretraining.iterations > 0) config.seed = 1;
  return config;
}

}  // namespace

const InputFiles::Data& PlannedModels::data(const TrainingConfig& config) {
  return files_.data(config.dataset, Place{} / "dataset");
}

Json PlannedModels::content(const TrainingConfig& config, Json& missing) {
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

void PlannedModels::check_pretraining(const TrainingConfig& config) {
  if (config.pretraining_dataset.is_null()) return;
  files_.data(config.pretraining_dataset, Place{} / "pretraining" / "dataset");
}

Model& PlannedModels::model(const TrainingConfig& config) {
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

const Mask& PlannedModels::final_mask(const TrainingConfig& config) {
  Model& pruned = model(config);
  if (!mask_ || config.pruning != pruning_) {
    mask_ = choose_mask(with_seed_of_weights(config), pruned, *data(config).dataset,
                        make_pruning(config).schedule.final_ratio());
    pruning_ = config.pruning;
  }
  return *mask_;
}

// Weights for pre-training on other data may only fit a model of those data.
void PlannedModels::load_file(const TrainingConfig& config) {
  try {
    const TensorMap tensors = load_tensors(*config.weights.file);
    if (!config.pretraining_dataset.is_null()) return;
    load_weights(*model_, tensors, *config.weights.file,
                 WeightRules{.head = model_->head(), .new_head = config.weights.head == "new"});
  } catch (const std::exception& error) {
    throw InputError(Place{} / "weights" / "file", message_of(error));
  }
}

}  // namespace thinpipe::trainer
