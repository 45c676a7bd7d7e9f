// SPDX-License-Identifier: Apache-2.0
// What happens if a worker dies or hangs during a run.
#pragma once

#include <cstdint>
#include <string>

#include "common/support/options.hh"

namespace thinpipe {

// Member "on_worker_failure" of an experiment.
struct FailurePolicy {
  static constexpr std::string_view shorthand = "action";

  std::string action = "fail";
  std::int64_t at_most = 3;
  std::int64_t checkpoint_every_iterations = 50;

  void visit(auto& field) {
    field("action", action,
          Rule{.effect = "fail: the run fails; restart: all workers restart from the newest checkpoint, or "
                         "from the beginning if there is none yet",
               .one_of = {"fail", "restart"}});
    field("at_most", at_most,
          Rule{.effect = "restarts per run; the run fails at the next failure after these", .at_least = 1});
    field("checkpoint_every_iterations", checkpoint_every_iterations,
          Rule{.effect = "iterations between checkpoints; their time is not train time", .at_least = 1});
  }

  bool restarts() const { return action == "restart"; }
};

}  // namespace thinpipe
