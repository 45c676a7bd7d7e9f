// SPDX-License-Identifier: Apache-2.0
// A record of a completed run with every required member.
#pragma once

#include <string>

#include "harness/records/record.hh"

namespace thinpipe {

inline Json whole_record(const std::string& label) {
  return {{"schema_version", record_schema_version},
          {"run_id", "0000000000000001"},
          {"status", "completed"},
          {"experiment", "e"},
          {"mode", "live"},
          {"label", label},
          {"labels", Json::object()},
          {"error", nullptr},
          {"config", Json::object()},
          {"plan", Json::object()},
          {"provenance", Json::object()},
          {"limits", {{"stall_timeout_s", 600}}},
          {"initial_weights", nullptr},
          {"iterations", 0},
          {"curve", Json::array()},
          {"targets", Json::array()},
          {"traffic",
           {{"payload_bytes_per_worker", 0},
            {"sent_bytes_per_worker", 0},
            {"wire_bytes", Json::object()},
            {"utilisation", Json::object()}}},
          {"train_time_s", 1.5},
          {"iteration_time_s", nullptr},
          {"compression", {{"effective_density", nullptr}, {"vnmse", nullptr}}},
          {"pruning", nullptr},
          {"synchroniser", nullptr},
          {"skipped_steps", nullptr},
          {"memory", {{"peak_bytes_per_worker", Json::array()}}},
          {"parameters", nullptr},
          {"parameters_hash", nullptr},
          {"fidelity", nullptr}};
}

}  // namespace thinpipe
