// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/training_config.hh"

#include <fmt/format.h>

#include "trainer/collectives/collective.hh"
#include "trainer/datasets/dataset.hh"
#include "trainer/datasets/partitions/partition.hh"
#include "trainer/models/model.hh"
#include "trainer/optimisers/optimiser.hh"
#include "trainer/pruning/pruning.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {
namespace {

const Rule kSeedRule{.effect = "seed of all random numbers; the same seed gives the same bits",
                     .at_least = 0};
const Rule kWorkersRule{.effect = "number of worker processes; each step uses all their batches",
                        .at_least = 1,
                        .required = true};
const Json kDefaultModel = {{"name", "small_cnn"}};
const Json kDefaultDataset = {{"name", "fashion_mnist"}};
const Json kDefaultPartition = {{"name", "iid"}};
const Json kDefaultOptimiser = {{"name", "sgd"}};
const Json kDefaultSynchroniser = {{"name", "dense"}};
const Json kDefaultCollective = {{"name", "auto"}};
constexpr const char* kDefaultCriterion = "magnitude";

// Returns {"name": fallback, options…} for options without a name. Throws InputError if the fallback has no
// such option.
template <class SomeRegistry>
Json with_name(const Json& options, const Place& place, const std::string& fallback) {
  JsonObject object(options, place);
  object.find("name");
  for (const Json& option : SomeRegistry::instance().find(fallback, place).options)
    object.find(option.at("key").get<std::string>());
  try {
    object.finish();
  } catch (const InputError& error) {
    throw InputError(error.place(), fmt::format("{}. Without a \"name\" these are the options of {}",
                                                error.message(), fallback));
  }
  Json named = options;
  named["name"] = fallback;
  return named;
}

// Reads a member {"name": …, options…}, or `fallback` if absent, and fills in the registry's defaults.
// Options without a name are those of `fallback`.
template <class SomeRegistry>
Json read_named(JsonObject& object, std::string_view key, const Json& fallback) {
  const Json* found = object.find(key);
  const Json& value = found == nullptr ? fallback : *found;
  const Place place = object.place_of(key);
  const bool is_unnamed = value.is_object() && !value.contains("name");
  if (value.is_string()) {
    throw InputError(place,
                     fmt::format(R"(must be an object, such as {{"name": {0}}}, but is {0})", value.dump()));
  }
  return SomeRegistry::instance().with_defaults(
      is_unnamed ? with_name<SomeRegistry>(value, place, fallback.at("name")) : value, place);
}

Json read_pruning(JsonObject& object) {
  const Json* given = object.find("pruning");
  Json value = given == nullptr ? Json::object() : *given;
  const Place place = object.place_of("pruning");
  JsonObject pruning(value, place);
  std::string criterion = kDefaultCriterion;
  pruning.read("criterion", criterion);
  value["criterion"] = criterion;
  return fill_defaults(value,
                       PruningRegistry::instance().find(criterion, pruning.place_of("criterion")).options);
}

// Reads the options and the data set, which a registry reads.
void read_pretraining(JsonObject& object, TrainingConfig& config) {
  const Json* value = object.find("pretraining");
  if (value == nullptr) return;
  JsonObject pretraining(*value, object.place_of("pretraining"));
  config.pretraining = read_options<PretrainingOptions>(pretraining);
  if (const Json* dataset = pretraining.find("dataset"); dataset != nullptr && !dataset->is_null()) {
    config.pretraining_dataset =
        DatasetRegistry::instance().with_defaults(*dataset, pretraining.place_of("dataset"));
  }
  pretraining.finish();
}

Json write_pretraining(const TrainingConfig& config) {
  Json out = write_options(config.pretraining);
  out["dataset"] = config.pretraining_dataset;
  return out;
}

void check_compute(const ComputeOptions& compute, const Place& place) {
  if (compute.precision == "bfloat16" && compute.device != "cuda") {
    throw InputError(place / "precision",
                     "is bfloat16, which needs the device cuda: on a CPU it would only be slower");
  }
}

// Creates everything that needs neither data nor peers, so that each factory checks its options. A model
// needs the shape of the data.
void check_by_making(const TrainingConfig& config, const Place& place) {
  PartitionRegistry::instance().make(config.partition, place / "partition");
  OptimiserRegistry::instance().make(
      config.optimiser, place / "optimiser",
      {.all = {torch::zeros({1}, torch::requires_grad())}, .is_hidden_weight = {false}});
  make_pruning(config.pruning, place / "pruning");
  SynchroniserRegistry::instance().make(config.synchroniser, place / "synchroniser", {});
  CollectiveRegistry::instance().make(config.collective, place / "collective", {});  // with one worker
}

Json describe_named(const char* key, const char* registry, const Json& fallback, const char* effect) {
  return {{"key", key},         {"effect", effect},  {"registry", registry},
          {"selector", "name"}, {"required", false}, {"default", fallback}};
}

}  // namespace

TrainingConfig parse_training_config(const Json& value, const Place& place) {
  JsonObject object(value, place);
  TrainingConfig config;
  object.read("seed", config.seed, kSeedRule);
  object.read("workers", config.workers, kWorkersRule);
  config.model = read_named<ModelRegistry>(object, "model", kDefaultModel);
  config.dataset = read_named<DatasetRegistry>(object, "dataset", kDefaultDataset);
  config.partition = read_named<PartitionRegistry>(object, "partition", kDefaultPartition);
  config.optimiser = read_named<OptimiserRegistry>(object, "optimiser", kDefaultOptimiser);
  config.pruning = read_pruning(object);
  config.synchroniser = read_named<SynchroniserRegistry>(object, "synchroniser", kDefaultSynchroniser);
  config.collective = read_named<CollectiveRegistry>(object, "collective", kDefaultCollective);
  OptionReader reader{object};
  reader("schedule", config.schedule, Rule{});
  reader("weights", config.weights, Rule{});
  read_pretraining(object, config);
  reader("training", config.training, Rule{});
  reader("compute", config.compute, Rule{});
  reader("buckets", config.buckets, Rule{});
  config.targets = read_targets(object);
  config.hold = read_hold(object);
  object.finish();
  check_schedule(config.schedule, place / "schedule");
  check_compute(config.compute, place / "compute");
  check_by_making(config, place);
  return config;
}

Json to_json(const TrainingConfig& config) {
  return {{"seed", config.seed},
          {"workers", config.workers},
          {"model", config.model},
          {"dataset", config.dataset},
          {"partition", config.partition},
          {"optimiser", config.optimiser},
          {"pruning", config.pruning},
          {"synchroniser", config.synchroniser},
          {"collective", config.collective},
          {"schedule", write_options(config.schedule)},
          {"weights", write_options(config.weights)},
          {"pretraining", write_pretraining(config)},
          {"training", write_options(config.training)},
          {"compute", write_options(config.compute)},
          {"buckets", write_options(config.buckets)},
          {"targets", to_json(config.targets)},
          {"hold", config.hold}};
}

Json describe_training_config() {
  const TrainingConfig config;
  OptionDescriber describer;
  describer("seed", config.seed, kSeedRule);
  describer("workers", config.workers, kWorkersRule);
  Json& out = describer.out;
  out.push_back(describe_named("model", "models", kDefaultModel, "the model to train"));
  out.push_back(describe_named("dataset", "datasets", kDefaultDataset, "the data set to train and test on"));
  out.push_back(describe_named("partition", "partitions", kDefaultPartition,
                               "how the training examples are divided among the workers"));
  out.push_back(
      describe_named("optimiser", "optimisers", kDefaultOptimiser, "how a gradient becomes a step"));
  out.push_back({{"key", "pruning"},
                 {"effect", "which weights to set to zero, and when"},
                 {"registry", "pruning"},
                 {"selector", "criterion"},
                 {"required", false},
                 {"default", {{"criterion", kDefaultCriterion}}}});
  out.push_back(describe_named("synchroniser", "synchronisers", kDefaultSynchroniser,
                               "the method by which all workers obtain the same mean gradient"));
  out.push_back(
      describe_named("collective", "collectives", kDefaultCollective, "how bytes travel between workers"));
  describer("schedule", config.schedule, Rule{.effect = "schedule of the learning rate"});
  describer("weights", config.weights, Rule{.effect = "initial weights of the model"});
  describer(
      "pretraining", config.pretraining,
      Rule{.effect = "training by a single process before the run, shared by the runs of an experiment"});
  Json dataset =
      describe_named("dataset", "datasets", nullptr, "data set to pre-train on; null: the run's own");
  dataset["nullable"] = true;
  out.back()["options"].push_back(std::move(dataset));
  describer("training", config.training, Rule{.effect = "length of the run, and details of a step"});
  describer("compute", config.compute, Rule{.effect = "device for compute"});
  describer("buckets", config.buckets,
            Rule{.effect = "parts of the gradient that are exchanged while others are still computed"});
  out.push_back(describe_targets());
  out.push_back(describe_hold());
  return out;
}

}  // namespace thinpipe::trainer
