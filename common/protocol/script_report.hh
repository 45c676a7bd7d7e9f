// SPDX-License-Identifier: Apache-2.0
// A report of a training script: one JSON object per line, with any of the members below
// (trainer/python/thinpipe/reporting.py).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/protocol/event.hh"

namespace thinpipe {

struct ScriptReport {
  std::optional<std::int64_t> iteration = {};  // iterations done
  std::optional<double> epoch = {};
  std::optional<double> monotonic_s = {};   // when it was made, by CLOCK_MONOTONIC
  std::optional<double> train_time_s = {};  // by the script's own clock
  std::optional<double> train_loss = {};
  std::optional<double> test_loss = {};
  std::optional<double> test_accuracy = {};
  std::int64_t payload_bytes = 0;  // since the last report
  bool is_evaluation = false;    // has a test loss or accuracy, if only a null for a value that is not finite
  Json libraries = nullptr;      // versions by name, in a process's first report
  Json others = Json::object();  // members of the script's own

  bool operator==(const ScriptReport&) const = default;
};

// Throws InvalidEvent naming the member and the rule if the text is not a report.
ScriptReport parse_script_report(std::string_view text);

}  // namespace thinpipe
