// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/run.hh"

#include <algorithm>

#include "harness/plan/run_id.hh"

namespace thinpipe {

bool Run::id_is_final() const {
  return std::ranges::none_of(training->content, [](const Json& hash) { return hash.is_null(); });
}

std::int64_t Run::planned_iterations() const {
  return training->plan.is_null() ? 0 : training->plan.at("iterations").get<std::int64_t>();
}

Json whole_config(const Run& run) {
  Json config = run.setting->config;
  config.update(run.training->config);
  return config;
}

Json decisive_part(const Run& run) {
  Json content = run.setting->content;
  content.update(run.training->content);
  return decisive_part(whole_config(run), content);
}

Json worker_config(const Run& run) {
  Json config = run.training->config;
  if (!run.trainer) config["collective"]["name"] = run.collective;
  return config;
}

CollectiveRouting routing_of(const Run& run) {
  return {.reduction_tree = run.reduction_tree, .is_streamed = run.collective == "ring"};
}

Json described_plan(const Run& run) {
  Json plan = run.training->plan;
  if (run.mode != Mode::converge && plan.is_object()) plan["collective"] = run.collective;
  return plan;
}

}  // namespace thinpipe
