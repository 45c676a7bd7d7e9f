// SPDX-License-Identifier: Apache-2.0
// The data, model and mask that a configuration is planned with.
#pragma once

#include <memory>
#include <optional>

#include "trainer/datasets/input_files.hh"
#include "trainer/models/model.hh"
#include "trainer/pruning/pruning.hh"
#include "trainer/training/training_config.hh"

namespace thinpipe::trainer {

// A sweep's configurations mostly share their data, and often their model and its mask. This reads each
// data set once, and creates a model or a mask only if it differs from the previous one.
class PlannedModels {
 public:
  // Throws InputError if the files exist but are damaged.
  const InputFiles::Data& data(const TrainingConfig& config);

  // Returns the hashes of the files and folders in the configuration, by the places of their paths. A run is
  // thus identified by the content of its data, not by their paths. Appends missing files to `missing`, as
  // {"pointer", "message"}.
  Json content(const TrainingConfig& config, Json& missing);

  // Reads the data of pre-training, if it has its own.
  void check_pretraining(const TrainingConfig& config);

  // The reference holds until a call with another configuration.
  Model& model(const TrainingConfig& config);

  // Returns that model's mask at the final ratio of pruning.
  const Mask& final_mask(const TrainingConfig& config);

 private:
  void load_file(const TrainingConfig& config);

  InputFiles files_;
  std::shared_ptr<Model> model_;
  Json model_key_;
  std::optional<Mask> mask_;
  Json pruning_;  // the options that the mask was made with
};

}  // namespace thinpipe::trainer
