// SPDX-License-Identifier: Apache-2.0
// The events that a worker program reports, one JSON object per line of its standard output. JSON format:
// docs/reference/trainers.md. The events that only thinpipe-trainer reports are described here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/support/exception.hh"
#include "common/support/json_object.hh"

namespace thinpipe {

// A worker reported an event that is incomplete, or has impossible values.
class InvalidEvent : public Error {
 public:
  using Error::Error;
};

namespace event {

// `name` is the value of an event's member "event".

struct Started {
  static constexpr std::string_view name = "started";
  std::int64_t pid = 0;
  Json libraries = Json::object();  // versions by name

  bool operator==(const Started&) const = default;
};

// Reported by rank 0 of the trainers that come with Thinpipe.
struct Dataset {
  static constexpr std::string_view name = "dataset";
  std::string hash = {};  // of the content
  // The size of each worker's part of the training examples; empty if all workers share them.
  std::vector<std::int64_t> examples_per_worker = {};

  bool operator==(const Dataset&) const = default;
};

struct Heartbeat {
  static constexpr std::string_view name = "heartbeat";
  std::int64_t iteration = 0;  // iterations done
  std::string phase = {};

  bool operator==(const Heartbeat&) const = default;
};

// Training resumes after this iteration, from a checkpoint.
struct Resumed {
  static constexpr std::string_view name = "resumed";
  std::int64_t iteration = 0;
  double train_time_s = 0;

  bool operator==(const Resumed&) const = default;
};

struct IterationStarted {
  static constexpr std::string_view name = "iteration_started";
  std::int64_t iteration = 0;
  double train_time_s = 0;
  double monotonic_s = 0;

  bool operator==(const IterationStarted&) const = default;
};

// The times of one iteration. A part is nullopt if the trainer cannot measure it separately.
struct IterationTimes {
  double train_time_s = 0;  // at the end of the iteration
  double iteration_time_s = 0;
  std::optional<double> load_s = {};
  std::optional<double> compute_s = {};
  std::optional<double> encode_s = {};
  std::optional<double> exchange_s = {};
  std::optional<double> decode_s = {};
  std::optional<double> exposed_exchange_s = {};
  std::optional<double> first_bucket_s = {};
  std::optional<double> cpu_s = {};

  bool operator==(const IterationTimes&) const = default;
};

// One iteration of any worker.
struct WorkerIteration {
  std::int64_t iteration = 0;  // counted from 1
  double monotonic_s = 0;      // at its end
  double iteration_time_s = 0;
  std::optional<double> compute_s =
      {};  // nullopt, as is the next, if the trainer cannot measure it separately
  std::optional<double> exposed_exchange_s = {};

  bool operator==(const WorkerIteration&) const = default;
};

// Several iterations at a time, so that reports of short iterations do not slow the workers down.
struct WorkerTimes {
  static constexpr std::string_view name = "worker_times";
  std::vector<WorkerIteration> iterations = {};

  bool operator==(const WorkerTimes&) const = default;
};

struct Iteration {
  static constexpr std::string_view name = "iteration";
  std::int64_t iteration = 0;  // counted from 1
  double epoch = 0;
  std::optional<IterationTimes> times = {};  // nullopt in convergence runs
  std::optional<double> train_loss = {};     // written as null if it is not finite
  bool applied = true;
  std::optional<std::int64_t> payload_bytes = {};  // nullopt if the trainer does not know it
  std::optional<double> sent_bytes = {};           // likewise
  std::optional<std::int64_t> delivered_bytes = {};
  Json others = Json::object();  // members that are not defined here

  bool operator==(const Iteration&) const = default;
};

struct Evaluation {
  static constexpr std::string_view name = "evaluation";
  std::int64_t iteration = 0;  // iterations done
  double epoch = 0;
  std::optional<double> train_time_s = {};  // nullopt in convergence runs
  std::optional<double> train_loss = {};    // both losses are written as null if they are not finite
  std::optional<double> test_loss = {};
  std::optional<double> test_accuracy = {};
  Json others = Json::object();  // members that are not defined here

  bool operator==(const Evaluation&) const = default;
};

struct Summary {
  static constexpr std::string_view name = "summary";
  std::optional<std::int64_t> parameters = {};
  Json pruning = nullptr;
  Json synchroniser = nullptr;
  std::optional<double> effective_density = {};
  std::optional<double> vnmse = {};
  std::optional<double> encode_cpu_s = {};  // mean per iteration, as is the next
  std::optional<double> decode_cpu_s = {};
  std::optional<std::int64_t> skipped_steps = {};
  std::optional<std::string> parameters_hash = {};

  bool operator==(const Summary&) const = default;
};

struct Finished {
  static constexpr std::string_view name = "finished";
  std::optional<std::int64_t> peak_memory_bytes = {};

  bool operator==(const Finished&) const = default;
};

// Training has stopped after this iteration as requested, with a checkpoint from which it can continue.
struct Interrupted {
  static constexpr std::string_view name = "interrupted";
  std::int64_t iteration = 0;

  bool operator==(const Interrupted&) const = default;
};

struct Failed {
  static constexpr std::string_view name = "failed";
  std::string kind = {};
  std::string message = {};

  bool operator==(const Failed&) const = default;
};

// An iteration of pre-training has ended.
struct Pretraining {
  static constexpr std::string_view name = "pretraining";
  std::int64_t iteration = 0;   // counted from 1
  std::int64_t iterations = 0;  // planned
  std::optional<double> train_loss = {};

  bool operator==(const Pretraining&) const = default;
};

// Pre-training has finished, and its weights are written.
struct Pretrained {
  static constexpr std::string_view name = "pretrained";
  std::optional<double> test_accuracy = {};
  std::optional<double> train_time_s = {};  // of its iterations

  bool operator==(const Pretrained&) const = default;
};

// The iterations of a replay begin.
struct Replaying {
  static constexpr std::string_view name = "replaying";

  bool operator==(const Replaying&) const = default;
};

struct ReplayedIteration {
  static constexpr std::string_view name = "replayed_iteration";
  std::int64_t iteration = 0;          // counted from 1
  bool represents_first_step = false;  // repeats the first step of a training run that has several
  IterationTimes times = {};
  std::int64_t payload_bytes = 0;
  double sent_bytes = 0;

  bool operator==(const ReplayedIteration&) const = default;
};

// The replayed iterations of one class of similar steps.
struct ReplayedClass {
  std::int64_t steps = 0;  // of the training run
  std::int64_t iterations = 0;
  double mean_s = 0;
  std::optional<double> half_width_s = {};  // half of the mean's 95 % confidence interval

  bool operator==(const ReplayedClass&) const = default;
};

// A replay has ended.
struct Replayed {
  static constexpr std::string_view name = "replayed";
  std::vector<ReplayedClass> classes = {};

  bool operator==(const Replayed&) const = default;
};

// What a worker has measured of the real network between the workers.
struct MeasuredNetwork {
  static constexpr std::string_view name = "measured_network";
  std::string node = {};
  std::string network_interface = {};
  std::string address = {};
  std::optional<double> connected_bit_per_s = {};  // of the interface, if it tells
  std::int64_t pairs_at_a_time = 1;                // that were measured at the same time
  std::vector<double> received_bit_per_s = {};     // from each worker, without headers; 0 from itself
  std::vector<double> round_trips_s = {};          // to each worker and back; 0 for itself
  std::int64_t sent_bytes_before = 0;              // of the interface, headers included
  std::int64_t received_bytes_before = 0;
  std::int64_t sent_bytes_after = 0;
  std::int64_t received_bytes_after = 0;

  bool operator==(const MeasuredNetwork&) const = default;
};

// An event of an unknown kind. It counts as progress and is otherwise ignored.
struct Other {
  Json content = Json::object();

  bool operator==(const Other&) const = default;
};

}  // namespace event

using Event =
    std::variant<event::Started, event::Dataset, event::Heartbeat, event::Resumed, event::IterationStarted,
                 event::WorkerTimes, event::Iteration, event::Evaluation, event::Summary, event::Finished,
                 event::Interrupted, event::Failed, event::Pretraining, event::Pretrained, event::Replaying,
                 event::ReplayedIteration, event::Replayed, event::MeasuredNetwork, event::Other>;

Json to_json(const Event& event);

// Throws InvalidEvent naming the member and the rule if a member is missing, has another type, or is out of
// bounds, such as an accuracy of 9.5 or a negative time. Accepts unknown members: iterations and evaluations
// keep them in `others`, and other events ignore them.
Event parse_event(const Json& value);

}  // namespace thinpipe
