#include "harness/plan/failure_policy.hh"

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

}  // namespace thinpipe
