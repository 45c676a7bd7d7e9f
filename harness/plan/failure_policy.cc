#include "harness/plan/failure_policy.hh"

#include <algorithm>
#include <array>

namespace thinpipe {

FailurePolicy read_failure_policy(JsonObject& config) {
  const Json* const value = config.find("on_worker_failure");
  if (value == nullptr || value->is_null()) return {};
  const Place place = config.place_of("on_worker_failure");
  if (!value->is_string()) return read_options<FailurePolicy>(*value, place);
  FailurePolicy policy;
  read_value(*value, place, {.one_of = {"fail", "restart"}}, policy.action);
  return policy;
}

bool is_of_a_worker(const Failure& failure) {
  constexpr std::array kinds = {"crash", "hang", "stall", "collective"};
  return std::ranges::find(kinds, failure.kind) != kinds.end();
}

}  // namespace thinpipe
