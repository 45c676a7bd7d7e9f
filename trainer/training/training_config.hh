// SPDX-License-Identifier: Apache-2.0
// The trainer's part of a run's configuration: all options that affect the trajectory.
#pragma once

#include "common/support/options.hh"
#include "common/support/target.hh"
#include "trainer/exchange/bucket_layout.hh"
#include "trainer/training/learning_rate.hh"

namespace thinpipe::trainer {

struct PretrainingOptions {
  std::int64_t iterations = 0;
  std::int64_t batch_size = 128;
  double learning_rate = 0.05;

  void visit(auto& field) {
    field("iterations", iterations,
          Rule{.effect = "steps of a single process before the run, whose weights all runs of an experiment "
                         "start from; 0: start from random weights",
               .at_least = 0});
    field("batch_size", batch_size, Rule{.effect = "examples per step", .at_least = 1});
    field("learning_rate", learning_rate, Rule{.effect = "step size; momentum is 0.9", .above = 0});
  }
};

struct LoopOptions {
  std::int64_t epochs = 1;
  std::int64_t batch_size_per_worker = 32;
  std::int64_t evaluate_every_iterations = 20;
  std::int64_t check_replicas_every_iterations = 0;
  std::int64_t max_skipped_steps = 10;
  double label_smoothing = 0;
  std::optional<double> clip_norm;
  std::string running_statistics = "rank_0";

  void visit(auto& field) {
    field("epochs", epochs, Rule{.effect = "passes over the training data", .at_least = 1});
    field("batch_size_per_worker", batch_size_per_worker,
          Rule{.effect = "examples per worker and step", .at_least = 1});
    field("evaluate_every_iterations", evaluate_every_iterations,
          Rule{.effect = "steps between evaluations on the whole test set; the last step is always evaluated",
               .at_least = 1});
    field("check_replicas_every_iterations", check_replicas_every_iterations,
          Rule{.effect = "steps between checks that all workers have the same parameters, bit for bit; 0: at "
                         "every evaluation",
               .at_least = 0});
    field("max_skipped_steps", max_skipped_steps,
          Rule{.effect = "the run fails if this many steps in a row have a non-finite gradient",
               .at_least = 1});
    field(
        "label_smoothing", label_smoothing,
        Rule{
            .effect = "share of the target distributed equally over all classes", .at_least = 0, .below = 1});
    field("clip_norm", clip_norm,
          Rule{.effect = "scale the mean gradient down to this Euclidean norm if it is longer; with methods "
                         "that have error feedback or momentum, each worker's gradient before "
                         "synchronisation; null: never",
               .above = 0});
    field(
        "running_statistics", running_statistics,
        Rule{.effect = "running statistics of normalisation layers in evaluations: those of rank 0, as in "
                       "DistributedDataParallel, or the mean over workers, whose data may differ; with local "
                       "steps, the mean of each worker's, estimated again at the common weights",
             .one_of = {"rank_0", "mean"}});
  }
};

struct ComputeOptions {
  std::string device = "cpu";
  std::string precision = "float32";

  void visit(auto& field) {
    field("device", device,
          Rule{.effect = "device for forward and backward; cuda: worker r uses GPU r modulo their number",
               .one_of = {"cpu", "cuda"}});
    field("precision", precision,
          Rule{.effect = "float32, or bfloat16: autocast of matrix products on a GPU; weights and gradients "
                         "stay float32",
               .one_of = {"float32", "bfloat16"}});
  }
};

struct WeightsOptions {
  std::optional<std::string> file;
  std::string head = "keep";

  void visit(auto& field) {
    field("file", file,
          Rule{.effect = "initial weights, before any pre-training: .safetensors, or a PyTorch state dict "
                         "(.pt, .pth); null: random"});
    field("head", head,
          Rule{.effect = "new: the classifier starts from random weights if the initial weights come from a "
                         "file or from pre-training on another data set; keep: it does not",
               .one_of = {"keep", "new"}});
  }
};

struct TrainingConfig {
  std::int64_t seed = 1;
  std::int64_t workers = 1;
  // Each {"name": …, options…} of a registry's entry, defaults filled in.
  Json model;
  Json dataset;
  Json partition;  // of the training examples among workers
  Json optimiser;
  Json pruning;  // {"criterion": …}, for make_pruning
  Json synchroniser;
  Json collective;
  ScheduleOptions schedule;
  WeightsOptions weights;
  PretrainingOptions pretraining;
  Json pretraining_dataset;  // {"name": …}; null: the data set itself
  LoopOptions training;
  ComputeOptions compute;
  BucketOptions buckets;
  std::vector<Target> targets;
  std::int64_t hold = default_hold;  // evaluations at a target
};

// Strict: throws InputError for unknown keys and names, and for values out of bounds. Also creates the
// objects once (except data sets and models), so that rules known only to their factories are checked here.
TrainingConfig parse_training_config(const Json& value, const Place& place);

// Returns the normalised form: every field, defaults included; parsing it gives the same configuration.
Json to_json(const TrainingConfig& config);

// Describes the keys that parse_training_config reads, one entry each as in describe_options. If a registry's
// entry is to be named, "registry" is the registry and "selector" the key of the name.
Json describe_training_config();

}  // namespace thinpipe::trainer
