// SPDX-License-Identifier: Apache-2.0
// The outcome of one run, as data. docs/reference/record-fields.md and harness/schema/record.schema.json describe the JSON.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/protocol/failure.hh"
#include "common/support/json_object.hh"
#include "common/support/target.hh"

namespace thinpipe {

class ParsedJson;

inline constexpr int record_schema_version = 3;

namespace record {

// nullopt is written as null.
template <class T>
using OrNull = std::optional<T>;

// nullopt: the member is missing, as in records that are older than it.
template <class T>
using OrMissing = std::optional<T>;

struct Failure {
  std::string kind = {};
  OrMissing<OrNull<std::int64_t>> rank = {};
  std::string message = {};
  OrMissing<OrNull<std::string>> exit_status = {};
  OrMissing<std::vector<std::string>> log_tail = {};
  OrMissing<std::vector<std::string>> workers = {};

  bool operator==(const Failure&) const = default;
};

struct Limits {
  double stall_timeout_s = 0;
  OrMissing<double> hang_timeout_s = {};
  OrMissing<double> profiling_time_s = {};

  bool operator==(const Limits&) const = default;
};

struct Delays {
  std::int64_t count = 0;
  OrNull<double> median_s = {};
  OrNull<double> p99_s = {};
  OrNull<double> max_s = {};

  bool operator==(const Delays&) const = default;
};

struct IdleCores {
  bool kept_awake = false;
  Delays wakeup_latency = {};

  bool operator==(const IdleCores&) const = default;
};

// Shares of the time that threads waited for a CPU.
struct CpuPressure {
  OrNull<double> controller = {};
  OrNull<double> network = {};
  OrNull<double> machine = {};

  bool operator==(const CpuPressure&) const = default;
};

struct TrainClock {
  Delays stop_delay = {};

  bool operator==(const TrainClock&) const = default;
};

struct InitialWeights {
  std::string path = {};
  OrNull<std::string> hash = {};
  OrNull<double> test_accuracy = {};

  bool operator==(const InitialWeights&) const = default;
};

// What train time leaves out; null if it is unknown.
struct SetUp {
  OrNull<double> pretraining_s = {};
  OrNull<std::string> pretraining_from = {};  // "measured" or "profile"; null if there is no such time
  OrNull<double> pruning_s = {};

  bool operator==(const SetUp&) const = default;
};

// An evaluation.
struct CurvePoint {
  std::int64_t iteration = 0;
  double epoch = 0;
  OrNull<double> train_time_s = {};
  OrNull<double> train_loss = {};
  OrNull<double> test_loss = {};
  OrNull<double> test_accuracy = {};

  bool operator==(const CurvePoint&) const = default;
};

// The first of successive evaluations that were at a target.
struct HeldTarget {
  std::int64_t evaluations = 1;
  bool reached = false;
  OrNull<std::int64_t> iteration = {};  // null if it was not held, as is the time
  OrNull<double> train_time_s = {};

  bool operator==(const HeldTarget&) const = default;
};

// The first evaluation at the target.
struct TargetResult {
  Target target = {};
  bool reached = false;
  OrNull<std::int64_t> iteration = {};  // null if it was not reached, as is the time
  OrNull<double> train_time_s = {};
  OrMissing<HeldTarget> held = {};

  bool operator==(const TargetResult&) const = default;
};

struct PrunedLayer {
  std::string name = {};
  std::int64_t weights = 0;
  std::int64_t kept = 0;

  bool operator==(const PrunedLayer&) const = default;
};

struct Pruning {
  OrMissing<double> density = {};
  OrMissing<std::vector<PrunedLayer>> layers = {};

  bool operator==(const Pruning&) const = default;
};

struct Memory {
  std::vector<OrNull<std::int64_t>> peak_bytes_per_worker = {};

  bool operator==(const Memory&) const = default;
};

// In seconds. The parts after the mean are means.
struct IterationTime {
  double p50 = 0;
  double p90 = 0;
  double mean = 0;
  OrNull<double> load = {};
  OrNull<double> compute = {};
  OrNull<double> encode = {};
  OrNull<double> exchange = {};
  OrNull<double> decode = {};
  OrNull<double> exposed_exchange = {};
  OrMissing<OrNull<double>> cpu = {};

  bool operator==(const IterationTime&) const = default;
};

struct Prediction {
  OrNull<double> exchange_time_s = {};
  OrNull<double> iteration_time_s = {};

  bool operator==(const Prediction&) const = default;
};

struct Traffic {
  OrNull<std::int64_t> payload_bytes_per_worker = {};
  OrNull<std::int64_t> sent_bytes_per_worker = {};
  OrMissing<OrNull<std::int64_t>> delivered_bytes_per_worker = {};
  std::map<std::string, OrNull<std::int64_t>> wire_bytes = {};  // by direction, such as "left->middle"
  std::map<std::string, OrNull<double>> utilisation = {};

  bool operator==(const Traffic&) const = default;
};

struct Compression {
  OrNull<double> effective_density = {};
  OrNull<double> vnmse = {};
  OrMissing<OrNull<double>> encode_cpu_s = {};
  OrMissing<OrNull<double>> decode_cpu_s = {};

  bool operator==(const Compression&) const = default;
};

struct RequestedChange {
  OrMissing<double> rate_bit_per_s = {};
  OrMissing<double> delay_s = {};
  OrMissing<double> loss = {};
  OrMissing<std::string> state = {};

  bool operator==(const RequestedChange&) const = default;
};

struct NetworkEvent {
  double at_s = 0;
  OrMissing<std::string> clock = {};
  std::string link = {};
  std::string source = {};
  RequestedChange requested = {};
  OrNull<double> confirmed_s = {};
  OrMissing<OrNull<double>> confirmed_train_time_s = {};
  OrNull<Json> applied = {};  // by direction
  OrNull<std::int64_t> iteration = {};
  OrNull<double> train_time_s = {};

  bool operator==(const NetworkEvent&) const = default;
};

struct WorkerEvent {
  std::int64_t worker = 0;
  // One of these two, ...
  OrMissing<double> at_s = {};
  OrMissing<std::int64_t> at_iteration = {};
  // ... and one of these.
  OrMissing<std::string> action = {};
  OrMissing<double> slowdown = {};
  OrNull<double> happened_s = {};
  OrNull<std::int64_t> iteration = {};
  OrNull<double> train_time_s = {};

  bool operator==(const WorkerEvent&) const = default;
};

// A flow of cross traffic; bytes from the first evaluation to the end of training.
struct CrossFlow {
  std::string from = {};
  std::string to = {};
  std::int64_t sent_bytes = 0;      // on the wire, as traffic.wire_bytes counts them
  std::int64_t received_bytes = 0;  // payload

  bool operator==(const CrossFlow&) const = default;
};

// The TCP connections over which one host sent data to another, from the first evaluation to the end of training.
struct Connections {
  std::string from = {};
  std::string to = {};
  std::int64_t connections = 0;
  std::int64_t acknowledged_bytes = 0;
  std::int64_t retransmitted_segments = 0;
  double min_round_trip_s = 0;
  double mean_round_trip_s = 0;
  double max_round_trip_s = 0;
  double mean_congestion_window_bytes = 0;
  double mean_delivery_rate_bit_per_s = 0;

  bool operator==(const Connections&) const = default;
};

struct Restart {
  Failure failure = {};
  std::int64_t after_iteration = 0;
  OrNull<std::int64_t> resumed_after_iteration = {};
  OrNull<double> lost_train_time_s = {};
  OrNull<double> down_time_s = {};

  bool operator==(const Restart&) const = default;
};

// The run was stopped and continued later from a checkpoint.
struct Interruption {
  std::int64_t after_iteration = 0;
  OrNull<double> train_time_s = {};  // until then; null for a convergence run
  std::string started_at = {};       // of the part that ended so
  std::string ended_at = {};
  OrNull<std::string> cpu = {};  // of its machine

  bool operator==(const Interruption&) const = default;
};

// The checkpoint from which an interrupted run continues.
struct Checkpoint {
  std::int64_t after_iteration = 0;
  std::string path = {};  // relative to the experiment's folder

  bool operator==(const Checkpoint&) const = default;
};

struct ComputeProfile {
  std::string path = {};
  std::string hash = {};
  std::string origin = {};
  Json device = Json::object();
  std::int64_t concurrent_workers = 1;

  bool operator==(const ComputeProfile&) const = default;
};

struct SimulatedMachine {
  OrNull<std::string> path = {};
  OrNull<std::string> hash = {};
  double cores = 1;
  std::int64_t workers_per_machine = 1;
  bool communication_first = true;
  double core_s_per_message = 0;
  double core_s_per_byte = 0;
  double core_s_per_capped_byte = 0;
  double balancing_s = 0;

  bool operator==(const SimulatedMachine&) const = default;
};

struct ReplayedClass {
  std::int64_t steps = 0;
  std::int64_t iterations = 0;
  double mean_s = 0;
  OrNull<double> ci95_half_width_s = {};

  bool operator==(const ReplayedClass&) const = default;
};

struct Replay {
  std::string convergence_run = {};
  OrNull<ComputeProfile> compute_profile = {};
  OrNull<std::string> compute_emulation = {};
  OrMissing<SimulatedMachine> machine = {};
  OrNull<std::vector<ReplayedClass>> classes = {};

  bool operator==(const Replay&) const = default;
};

struct Check {
  std::string name = {};
  Json specified = nullptr;
  Json measured = nullptr;
  bool ok = true;
  OrMissing<std::string> note = {};

  bool operator==(const Check&) const = default;
};

struct Fidelity {
  std::string verdict = {};
  OrMissing<std::int64_t> directions = {};
  OrMissing<std::int64_t> judged_directions = {};
  std::vector<Check> checks = {};

  bool operator==(const Fidelity&) const = default;
};

struct ClusterNode {
  std::string host = {};  // its name in the topology
  std::string node = {};  // the machine's own name
  std::string network_interface = {};
  std::string address = {};
  OrNull<double> connected_bit_per_s = {};

  bool operator==(const ClusterNode&) const = default;
};

// Between each two workers, by [from][to]; 0 from a worker to itself.
struct MeasuredRates {
  std::int64_t pairs_at_a_time = 1;
  std::vector<std::vector<double>> bit_per_s = {};
  std::vector<std::vector<double>> round_trips_s = {};

  bool operator==(const MeasuredRates&) const = default;
};

// The real network of a run on several machines.
struct Cluster {
  std::vector<ClusterNode> nodes = {};  // by rank
  MeasuredRates before = {};
  OrNull<MeasuredRates> after =
      {};  // null if the run was not completed, or the network could not be measured again
  OrNull<double> largest_change = {};  // of a pair's rate, relative to before
  std::vector<std::vector<std::int64_t>> islands = {};
  std::vector<std::int64_t> reduction_tree = {};

  bool operator==(const Cluster&) const = default;
};

}  // namespace record

struct Record {
  template <class T>
  using OrNull = record::OrNull<T>;
  template <class T>
  using OrMissing = record::OrMissing<T>;

  std::string run_id = {};
  std::string experiment = {};
  std::string label = {};
  std::map<std::string, std::string> labels = {};
  std::string status = {};
  OrNull<record::Failure> error = {};
  std::string mode = {};
  // Of these three, only the members on which reports depend are checked.
  Json config = Json::object();
  OrNull<Json> plan = {};  // null if the trainer is a command
  Json provenance = Json::object();
  record::Limits limits = {};
  OrMissing<OrNull<record::IdleCores>> idle_cores = {};
  OrMissing<OrNull<record::CpuPressure>> cpu_pressure = {};
  OrNull<record::InitialWeights> initial_weights = {};
  OrMissing<OrNull<record::SetUp>> set_up = {};  // null if the trainer is a command
  OrNull<double> train_time_s = {};
  std::int64_t iterations = 0;
  std::vector<record::CurvePoint> curve = {};
  std::vector<record::TargetResult> targets = {};
  OrNull<record::IterationTime> iteration_time_s = {};
  OrMissing<OrNull<record::Prediction>> predicted = {};
  record::Traffic traffic = {};
  record::Compression compression = {};
  OrNull<record::Pruning> pruning = {};
  OrNull<Json> synchroniser = {};  // the method's own statistics
  OrNull<std::int64_t> skipped_steps = {};
  record::Memory memory = {};
  OrNull<std::int64_t> parameters = {};
  OrNull<std::string> parameters_hash = {};
  OrMissing<std::vector<record::NetworkEvent>> network_events = {};
  OrMissing<OrNull<record::TrainClock>> train_clock = {};
  OrMissing<std::vector<record::CrossFlow>> cross_traffic = {};
  OrMissing<std::vector<record::Connections>> connections = {};
  OrMissing<std::vector<record::WorkerEvent>> worker_events = {};
  OrMissing<std::vector<record::Restart>> restarts = {};
  OrMissing<std::vector<record::Interruption>> interruptions = {};
  OrMissing<record::Checkpoint> checkpoint = {};  // only if it is interrupted
  OrMissing<OrNull<record::Replay>> replay = {};
  OrNull<record::Fidelity> fidelity = {};
  OrMissing<record::Cluster> cluster = {};
  OrMissing<std::vector<std::string>> warnings = {};
  // Members that only later versions know, by their places, such as "/curve/0/later".
  Json others = Json::object();

  bool operator==(const Record&) const = default;
};

Json to_json(const Record& record);

// Throws InputError with `file`, the place in the record and the rule: /curve/3/test_accuracy, "must be a
// number from 0 to 1". Members that are described here may be missing only if they are OrMissing.
Record parse_record(const Json& value, const std::string& file = {});
Record record_of(const ParsedJson& value, const std::string& file = {});

// Reads a part of a record that another room wrote, such as a record::Fidelity. `place`: for messages, such as
// "/fidelity". Throws InputError as parse_record does. For the parts listed at the end of record_data.cc.
template <class Part>
Part parse_part(const Json& value, const std::string& place);
template <class Part>
Json write_part(const Part& part);

// Returns the failure as records have it.
record::Failure recorded(const Failure& failure);

// The ends of a link of a record's topology.
struct RecordedLink {
  std::vector<std::string> between = {};  // two
  record::OrMissing<bool> bottleneck = {};
};

// Returns the links of a record's configuration; empty if it has no network. Throws InputError as parse_record
// does.
std::vector<RecordedLink> links_of(const Json& config);

}  // namespace thinpipe
