// What is to happen when a worker dies or hangs in the middle of a run.
#pragma once

#include <cstdint>
#include <string>

#include "common/support/options.hh"

namespace thinpipe {

struct FailurePolicy {
  std::string action = "fail";
  std::int64_t at_most = 3;
  std::int64_t checkpoint_every_iterations = 50;

  void visit(auto& field) {
    field("action", action,
          Rule{.effect = "fail: the run has failed; restart: all workers start again from the newest "
                         "checkpoint, or from the beginning where there is none yet",
               .one_of = {"fail", "restart"}});
    field("at_most", at_most,
          Rule{.effect = "restarts of a run; the failure after the last is the run's", .at_least = 1});
    field("checkpoint_every_iterations", checkpoint_every_iterations,
          Rule{.effect = "iterations between checkpoints, whose time is no train time", .at_least = 1});
  }

  bool restarts() const { return action == "restart"; }
};

// Reads member "on_worker_failure": the object, or its action alone as a string. Throws InputError.
FailurePolicy read_failure_policy(JsonObject& config);

}  // namespace thinpipe
