// The trainer's part of a run's configuration: everything that decides the trajectory.
#pragma once

#include "harness/support/options.hh"
#include "harness/support/target.hh"
#include "trainer/bucket_layout.hh"
#include "trainer/learning_rate.hh"

namespace thinpipe::trainer {

struct PretrainingOptions {
  std::int64_t iterations = 0;
  std::int64_t batch_size = 128;
  double learning_rate = 0.05;

  void visit(auto& field) {
    field(
        "iterations", iterations,
        Rule{.effect = "steps of a single process before the run; all runs of an experiment start from these "
                       "weights. 0: from random weights",
             .at_least = 0});
    field("batch_size", batch_size, Rule{.effect = "examples a step", .at_least = 1});
    field("learning_rate", learning_rate, Rule{.effect = "step size; momentum is 0.9", .above = 0});
  }
};

struct LoopOptions {
  std::int64_t epochs = 1;
  std::int64_t batch_size_per_worker = 32;
  std::int64_t evaluate_every_iterations = 20;
  std::int64_t check_agreement_every_iterations = 0;
  std::int64_t max_skipped_steps = 10;
  double label_smoothing = 0;
  std::optional<double> clip_norm;

  void visit(auto& field) {
    field("epochs", epochs, Rule{.effect = "passes over the training data", .at_least = 1});
    field("batch_size_per_worker", batch_size_per_worker,
          Rule{.effect = "examples each worker takes a step", .at_least = 1});
    field("evaluate_every_iterations", evaluate_every_iterations,
          Rule{.effect = "steps between evaluations on the whole test set; the last step is always evaluated",
               .at_least = 1});
    field("check_agreement_every_iterations", check_agreement_every_iterations,
          Rule{.effect =
                   "steps between checks that all workers hold the same parameters, bit for bit; 0: at every "
                   "evaluation",
               .at_least = 0});
    field("max_skipped_steps", max_skipped_steps,
          Rule{.effect = "the run fails when this many steps in a row have a non-finite gradient",
               .at_least = 1});
    field(
        "label_smoothing", label_smoothing,
        Rule{
            .effect = "share of the target that all classes have in equal parts", .at_least = 0, .below = 1});
    field(
        "clip_norm", clip_norm,
        Rule{.effect =
                 "the mean gradient is scaled down to this Euclidean norm where it is longer; with methods "
                 "that "
                 "have error feedback or momentum each worker's own, before it is synchronised; null: never",
             .above = 0});
  }
};

struct ComputeOptions {
  std::string device = "cpu";
  std::string precision = "float32";

  void visit(auto& field) {
    field("device", device,
          Rule{.effect = "where forward and backward run; cuda: worker r takes GPU r modulo their number",
               .one_of = {"cpu", "cuda"}});
    field("precision", precision,
          Rule{.effect =
                   "float32, or bfloat16: autocast of matrix products on a GPU; weights and gradients stay "
                   "float32",
               .one_of = {"float32", "bfloat16"}});
  }
};

struct WeightsOptions {
  std::optional<std::string> file;
  std::string head = "keep";

  void visit(auto& field) {
    field("file", file,
          Rule{.effect =
                   "weights to start from, before any pre-training: .safetensors, or a state dict of PyTorch "
                   "(.pt, .pth); null: random ones"});
    field("head", head,
          Rule{.effect =
                   "new: weights made elsewhere, by that file or by pre-training on another data set, are "
                   "taken but for the classifier, which starts from random ones",
               .one_of = {"keep", "new"}});
  }
};

struct TrainingConfig {
  std::int64_t seed = 1;
  std::int64_t workers = 1;
  // {"name": …, options…} of a registry entry each, defaults filled in.
  Json model;
  Json dataset;
  Json optimiser;
  Json pruning;  // {"criterion": …}, of make_pruning
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
};

// Strict: unknown keys and names, and values out of bounds, are InputErrors. The objects are also made once
// (data sets and models apart), so that a rule that only their maker knows is checked here.
TrainingConfig parse_training_config(const Json& value, const Place& place);

// The normalised form: every field, defaults included; parses back to the same.
Json to_json(const TrainingConfig& config);

// What parse_training_config reads, an entry for each key as those of describe_options. Where a registry's
// entry is to be named, "registry" says which one, and "selector" the key of the name.
Json describe_training_config();

}  // namespace thinpipe::trainer
