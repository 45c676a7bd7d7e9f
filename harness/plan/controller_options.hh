// SPDX-License-Identifier: Apache-2.0
// The keys of a run's configuration that the harness reads; the trainer reads the others. A key is described
// here once: the reader, the schema of experiments, --set and messages about unknown keys derive from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/support/options.hh"
#include "harness/plan/external_trainer.hh"
#include "harness/plan/failure_policy.hh"
#include "harness/plan/machine_options.hh"
#include "harness/plan/worker_events.hh"
#include "netem/cross_traffic/cross_flow.hh"
#include "netem/topology/schedule.hh"

namespace thinpipe {

inline constexpr const char* measured_profile = "measured";

struct ComputeProfileOptions {
  static constexpr std::string_view shorthand = "device";

  std::string device = measured_profile;
  std::optional<std::int64_t> batch_size_per_worker;

  void visit(auto& field);
};

struct BottleneckOptions {
  std::optional<double> rate_bit_per_s;
  std::optional<double> burst_s;
  std::optional<double> queue_s;
  std::optional<std::string> queueing;
  std::optional<bool> ecn;

  bool has_queueing() const { return queueing || ecn; }

  void visit(auto& field) {
    field(
        "rate", rate_bit_per_s,
        Rule{.effect = "cap of each direction, Ethernet headers included, such as \"100 Mbit/s\"; null: the "
                       "topology's",
             .quantity = Quantity::rate,
             .above = 0});
    field(
        "burst", burst_s,
        Rule{.effect = "bytes that may pass at once after idling, as a time at the cap; at least 4000 bytes. "
                       "A longer burst costs less CPU time, but short messages arrive too early; null: the "
                       "topology's",
             .quantity = Quantity::duration,
             .above = 0});
    field("queue", queue_s,
          Rule{.effect = "bytes that may wait before frames drop, as a time at the cap; at least 16 full "
                         "frames; null: the topology's",
               .quantity = Quantity::duration,
               .above = 0});
    field("queueing", queueing,
          Rule{.effect = "order in which waiting frames are sent, and when they drop: fifo: first in, first "
                         "out; fair: flows take turns; codel, fq_codel, red: queues that keep themselves "
                         "short, if the kernel has them; null: the topology's",
               .one_of = netem::queueing_names()});
    field("ecn", ecn,
          Rule{.effect = "whether queues of codel, fq_codel and red mark frames instead of dropping them; "
                         "null: the topology's"});
  }
};

struct ControllerOptions {
  std::string mode = "live";
  std::string topology = "three-switch";
  ComputeProfileOptions compute_profile;
  std::optional<MachineOptions> machine;
  std::optional<ExternalTrainer> trainer;
  std::optional<BottleneckOptions> bottleneck;
  std::optional<Json> congestion_control;  // netem::set_congestion_control checks it
  std::optional<std::int64_t> mtu;
  std::optional<std::int64_t> workers;
  netem::ScheduleOptions schedule;
  std::vector<netem::CrossFlow> cross_traffic;
  std::vector<WorkerEventOptions> worker_events;
  FailurePolicy on_worker_failure;

  void visit(auto& field);
};

// Throws InputError. Only the values are checked, each on its own.
ControllerOptions read_harness_options(JsonObject& object);

// Returns an entry per key, like describe_options (common/support/options.hh). Entries of a list's elements
// may also have a "constraint", a further JSON Schema for an element.
Json describe_controller_options();

const std::vector<std::string>& controller_option_keys();

}  // namespace thinpipe
