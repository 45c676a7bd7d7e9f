// SPDX-License-Identifier: Apache-2.0
// thinpipe-trainer check-method: the conformance suite for one method.
#pragma once

#include "common/support/json_object.hh"

namespace thinpipe::trainer {

// Answers the question of check_method() (trainer/commands/conformance/check_method.hh) on standard output, with one
// line of JSON; a wrong question is answered with {"wrong": {"pointer", "message"}}. Shows the progress if
// standard error is a terminal. Returns the exit code: 0 if it could be answered, 2 if the question is wrong.
int answer_method_check(const Json& question);

}  // namespace thinpipe::trainer
