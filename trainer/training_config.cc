#include "trainer/training_config.hh"

#include "trainer/collectives/collective.hh"
#include "trainer/datasets/dataset.hh"
#include "trainer/models/model.hh"
#include "trainer/optimisers/optimiser.hh"
#include "trainer/pruning/pruning.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {
namespace {

// A member {"name": …, options…}, or `fallback` when absent, with the registry's defaults filled in.
template <class SomeRegistry>
Json read_named(JsonObject& object, std::string_view key, const Json& fallback) {
  const Json* value = object.find(key);
  return SomeRegistry::instance().with_defaults(value == nullptr ? fallback : *value, object.place_of(key));
}

Json read_pruning(JsonObject& object) {
  const Json* given = object.find("pruning");
  Json value = given == nullptr ? Json::object() : *given;
  const Place place = object.place_of("pruning");
  JsonObject pruning(value, place);
  std::string criterion = "magnitude";
  pruning.read("criterion", criterion);
  value["criterion"] = criterion;
  return fill_defaults(value,
                       PruningRegistry::instance().find(criterion, pruning.place_of("criterion")).options);
}

// Makes everything that can be made without data or peers: each maker checks its own options. A model needs
// the shape of the data.
void check_by_making(const TrainingConfig& config, const Place& place) {
  OptimiserRegistry::instance().make(config.optimiser, place / "optimiser",
                                     {torch::zeros({1}, torch::requires_grad())});
  make_pruning(config.pruning, place / "pruning");
  SynchroniserRegistry::instance().make(config.synchroniser, place / "synchroniser", {});
}

}  // namespace

TrainingConfig parse_training_config(const Json& value, const Place& place) {
  JsonObject object(value, place);
  TrainingConfig config;
  object.read("seed", config.seed, {.at_least = 0});
  object.read("workers", config.workers, {.at_least = 1, .required = true});
  config.model = read_named<ModelRegistry>(object, "model", {{"name", "small_cnn"}});
  config.dataset = read_named<DatasetRegistry>(object, "dataset", {{"name", "fashion_mnist"}});
  config.optimiser = read_named<OptimiserRegistry>(object, "optimiser", {{"name", "sgd"}});
  config.pruning = read_pruning(object);
  config.synchroniser = read_named<SynchroniserRegistry>(object, "synchroniser", {{"name", "dense"}});
  config.collective = read_named<CollectiveRegistry>(object, "collective", {{"name", "gloo"}});
  OptionReader reader{object};
  reader("pretraining", config.pretraining, Rule{});
  reader("training", config.training, Rule{});
  reader("buckets", config.buckets, Rule{});
  object.read("targets", config.targets, {.above = 0, .at_most = 1});
  object.finish();
  check_by_making(config, place);
  return config;
}

Json to_json(const TrainingConfig& config) {
  return {{"seed", config.seed},
          {"workers", config.workers},
          {"model", config.model},
          {"dataset", config.dataset},
          {"optimiser", config.optimiser},
          {"pruning", config.pruning},
          {"synchroniser", config.synchroniser},
          {"collective", config.collective},
          {"pretraining", write_options(config.pretraining)},
          {"training", write_options(config.training)},
          {"buckets", write_options(config.buckets)},
          {"targets", config.targets}};
}

}  // namespace thinpipe::trainer
