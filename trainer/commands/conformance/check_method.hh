// SPDX-License-Identifier: Apache-2.0
// Examines whether a configured method keeps the promises of the conformance suite, and explains why not.
#pragma once

#include <functional>
#include <string>

#include "common/support/json_object.hh"

namespace thinpipe::trainer {

// Called while a method is being checked.
struct CheckObserver {
  // Receives what is examined next, for example "over gloo with 2 workers".
  std::function<void(const std::string& stage)> on_stage;
  // Receives the answer if no worker gets any further. Their threads cannot be ended, so it must end the process.
  std::function<void(const Json& answer)> on_hang;
};

// question: {"synchroniser": {"name", options...}}, and optionally the lists "workers" and "backends", and
// "hang_timeout_s". Returns
//   {"conforms": bool, "synchroniser", "examined": [{"backend", "workers"}],
//    "skipped": [{"backend", "workers", "reason"}], "promises": [...]},
// where the method accepts no group that is skipped, and each promise is
//   {"promise", "name", "verdict", "reason", "meaning", "consequence", "remedy", "findings",
// "finding_count"}. verdict: "ok", "violated", or "not examined", which "reason" explains. findings: the first few,
// as {"backend", "workers", "what"}. Throws InputError if the question or an option is
// wrong, or if the method accepts none of the numbers of workers.
Json check_method(const Json& question, const CheckObserver& observer);

}  // namespace thinpipe::trainer
