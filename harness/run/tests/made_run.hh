// SPDX-License-Identifier: Apache-2.0
// A run that no experiment file describes, and events of its workers.
#pragma once

#include "common/protocol/event.hh"
#include "common/support/tests/paths.hh"
#include "harness/plan/run.hh"
#include "netem/topology/topology_format.hh"

namespace thinpipe {

// A run of two workers and two iterations over three switches.
inline thinpipe::Run run_in(Mode mode) {
  thinpipe::Run run;
  run.id = "0123";
  run.label = "dense";
  run.labels.emplace_back("method", "dense");
  run.mode = mode;
  run.workers = 2;
  Setting setting;
  setting.config = {{"mode", mode == Mode::live ? "live" : "converge"}, {"workers", 2}};
  setting.topology = netem::load_topology(source_path("topologies/three-switch.json"));
  run.setting = std::make_shared<const Setting>(std::move(setting));
  CheckedConfig training;
  training.config = {{"collective", {{"name", "ring"}}}, {"targets", {0.5}}};
  training.plan = {{"gradient_bytes", 400},
                   {"bucket_bytes", {100, 300}},
                   {"iterations", 2},
                   {"sent_bytes_per_iteration", 400.0},
                   {"pairwise_bytes_per_iteration", 0.0},
                   {"codes_per_iteration", 0.0},
                   {"largest_code", 1}};
  run.training = std::make_shared<const CheckedConfig>(std::move(training));
  return run;
}

inline event::Iteration iteration_after(std::int64_t iteration, double train_time_s) {
  return {.iteration = iteration,
          .epoch = 0.5,
          .times = event::IterationTimes{.train_time_s = train_time_s,
                                         .iteration_time_s = 1,
                                         .load_s = 0,
                                         .compute_s = 0.5,
                                         .encode_s = 0,
                                         .exchange_s = 0.5,
                                         .decode_s = 0,
                                         .exposed_exchange_s = 0.25},
          .payload_bytes = 400,
          .sent_bytes = 400.4,
          .delivered_bytes = 300};
}

inline event::Evaluation evaluation_after(std::int64_t iteration, double train_time_s, double accuracy) {
  return {.iteration = iteration,
          .train_time_s = train_time_s,
          .train_loss = 1,
          .test_loss = 1,
          .test_accuracy = accuracy};
}

}  // namespace thinpipe
