// SPDX-License-Identifier: Apache-2.0
#include "trainer/pruning/pruning.hh"

namespace thinpipe::trainer {

Pruning make_pruning(const Json& value, const Place& place) {
  JsonObject object(value, place);
  std::string name = "magnitude";
  const PruningRegistry& registry = PruningRegistry::instance();
  object.read("criterion", name,
              {.effect = "criterion by which the weights to prune are chosen", .one_of = registry.names()});
  PruningSchedule schedule(read_options<PruningScheduleOptions>(object), place);
  std::unique_ptr<PruningCriterion> criterion = registry.entries().at(name).make(object);
  object.finish();
  return {schedule, std::move(criterion)};
}

}  // namespace thinpipe::trainer
