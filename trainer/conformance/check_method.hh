// Answers whether one configured method keeps the promises of the conformance suite, and why not.
#pragma once

#include <functional>
#include <string>

#include "common/support/json_object.hh"

namespace thinpipe::trainer {

// Called while a method is being checked.
struct CheckObserver {
  // Receives what is examined next, for example "over gloo with 2 workers".
  std::function<void(const std::string& stage)> on_stage;
  // Receives the answer if all workers wait or compute without end. They cannot be ended, so it must end the
  // process.
  std::function<void(const Json& answer)> on_hang;
};

// question: {"synchroniser": {"name", options...}} and, if wanted, "workers", "backends" (lists) and
// "hang_timeout_s". Returns
//   {"conforms": bool, "synchroniser", "summary", "examined": [{"backend", "workers"}], "promises": [...]},
// each promise as {"promise", "name", "verdict", "reason", "meaning", "consequence", "remedy", "findings",
// "finding_count"}. verdict: "ok", "violated" or "not examined", for the reason. findings: the first few, as
// {"backend", "workers", "what"}. Throws InputError if the question, or an option, is wrong.
Json check_method(const Json& question, const CheckObserver& observer);

}  // namespace thinpipe::trainer
