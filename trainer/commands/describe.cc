// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/describe.hh"

#include <torch/cuda.h>

#include "common/support/registry.hh"
#include "trainer/collectives/collective.hh"
#include "trainer/commands/worker.hh"
#include "trainer/datasets/dataset.hh"
#include "trainer/datasets/partitions/partition.hh"
#include "trainer/models/model.hh"
#include "trainer/optimisers/optimiser.hh"
#include "trainer/pruning/pruning.hh"
#include "trainer/synchronisers/synchroniser.hh"
#include "trainer/training/training_config.hh"

namespace thinpipe::trainer {
namespace {

template <class SomeRegistry>
Json describe_registry() {
  Json out = Json::object();
  for (const auto& [name, entry] : SomeRegistry::instance().entries()) {
    out[name] = {{"summary", entry.summary}, {"options", entry.options}};
  }
  return out;
}

}  // namespace

Json describe() {
  return {{"synchronisers", describe_registry<SynchroniserRegistry>()},
          {"models", describe_registry<ModelRegistry>()},
          {"datasets", describe_registry<DatasetRegistry>()},
          {"partitions", describe_registry<PartitionRegistry>()},
          {"collectives", describe_registry<CollectiveRegistry>()},
          {"optimisers", describe_registry<OptimiserRegistry>()},
          {"pruning", describe_registry<PruningRegistry>()},
          {"configuration", describe_training_config()},
          {"cuda_devices", torch::cuda::device_count()},
          {"libraries", library_versions()}};
}

}  // namespace thinpipe::trainer
