// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/check.hh"

#include <istream>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <torch/cuda.h>

#include "common/support/conversation.hh"
#include "trainer/base/library_error.hh"
#include "trainer/collectives/backends/nccl.hh"
#include "trainer/commands/planning/planned_traffic.hh"
#include "trainer/commands/planning/training_rules.hh"
#include "trainer/commands/python_host.hh"
#include "trainer/datasets/batch_sampler.hh"
#include "trainer/exchange/gradient_exchange.hh"
#include "trainer/training/training_setup.hh"

namespace thinpipe::trainer {
namespace {

Json plan(const TrainingConfig& config, PlannedModels& models) {
  const Dataset& dataset = *models.data(config).dataset;
  check_targets(config, dataset);
  const Model& model = models.model(config);
  const auto synchroniser = planned_synchroniser(config, model);
  check_method(config, *synchroniser);
  // The number of iterations does not depend on the partition, which needs labels.
  const BatchSampler sampler(models.data(config).is_outline() ? shared_batch_options(config, dataset)
                                                              : batch_options(config, dataset, 0));
  std::int64_t parameters = 0;
  for (const ParameterInfo& info : parameter_infos(model)) parameters += info.size;
  const std::int64_t iterations = config.training.epochs * sampler.batches_per_epoch();
  check_schedule_acts(config, iterations);
  const std::int64_t every = config.training.evaluate_every_iterations;
  Json out = traffic_per_iteration(config, models, *synchroniser, iterations);
  out.update(
      {{"parameters", parameters},
       {"gradient_bytes", 4 * parameters},
       {"bucket_bytes", bucket_bytes(config, model, *synchroniser)},
       {"iterations_per_exchange", synchroniser->local_steps().value_or(1) / synchroniser->fragments().count},
       {"overlap_iterations", synchroniser->fragments().overlap_steps},
       {"senses_network", synchroniser->senses_network()},
       {"iterations", iterations},
       {"evaluations", 1 + (iterations + every - 1) / every},
       {"all_reduce_compatible", synchroniser->properties().all_reduce_compatible}});
  return out;
}

// Returns the devices that this machine lacks.
Json missing_devices(const TrainingConfig& config) {
  Json missing = Json::array();
  if (config.compute.device == "cuda" && !torch::cuda::is_available()) {
    missing.push_back(
        {{"pointer", "/compute/device"},
         {"message",
          "is cuda, but LibTorch finds no GPU here: use cpu, or a LibTorch with CUDA on a machine with a GPU "
          "(`thinpipe doctor` reports what it finds)"}});
  }
  if (config.collective.at("name") == "nccl") {
    if (const auto obstacle = obstacle_to_nccl())
      missing.push_back({{"pointer", "/collective/name"}, {"message", *obstacle}});
  }
  return missing;
}

// Without the data, sizes may be known but gradients cannot be computed.
bool can_plan(const TrainingConfig& config, PlannedModels& models) {
  const InputFiles::Data& data = models.data(config);
  if (!data.missing) return true;
  const Pruning pruning = make_pruning(config);
  return data.is_outline() && (pruning.schedule.final_ratio() == 0 || !pruning.criterion->looks_at_data());
}

Json check_configuration(const Json& value, PlannedModels& models) {
  try {
    const TrainingConfig config = parse_training_config(value, {});
    const Json expected = can_plan(config, models) ? plan(config, models) : Json(nullptr);
    models.check_pretraining(config);
    Json missing = missing_devices(config);
    Json content = models.content(config, missing);
    return {{"ok", true},
            {"config", to_json(config)},
            {"plan", expected},
            {"content", std::move(content)},
            {"missing", std::move(missing)}};
  } catch (const InputError& error) {
    return {{"ok", false}, {"pointer", error.place().pointer}, {"message", error.message()}};
  } catch (const std::exception& error) {
    // A combination that no single option's rule excludes: a batch larger than the data set,
    // an image too small.
    return {{"ok", false}, {"pointer", ""}, {"message", message_of(error)}};
  }
}

}  // namespace

Json check_configurations(const Json& configurations) {
  PlannedModels models;
  Json answers = Json::array();
  for (const Json& value : configurations) answers.push_back(check_configuration(value, models));
  return answers;
}

void check_lines(std::istream& in, std::ostream& out) {
  PlannedModels models;
  std::optional<Conversation> python;
  for (std::string line; std::getline(in, line);) {
    const Json value = parse_json(line, "standard input");
    if (!needs_python_host(value)) {
      out << check_configuration(value, models).dump() << std::endl;
      continue;
    }
    if (!python) python.emplace(in_python({"check", "--lines"}));
    try {
      out << python->ask(line) << std::endl;
    } catch (const Error& error) {
      throw Error(fmt::format("{}{}", error.what(), remedy_for_python()));
    }
  }
}

}  // namespace thinpipe::trainer
