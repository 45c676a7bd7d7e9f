// SPDX-License-Identifier: Apache-2.0
// A run's event file for TensorBoard, written while the run proceeds.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "common/protocol/event.hh"
#include "common/support/file_descriptor.hh"
#include "harness/records/record_data.hh"
#include "harness/reports/event_file.hh"

namespace thinpipe {

// Every event is in the file as soon as it is added. Its wall time is the run's start plus the train time, as in
// write_tensorboard. Each function throws SystemError if the file cannot be written.
class LiveEvents {
 public:
  // Begins the file, and its folder, at this moment. Replaces the file of an earlier run.
  explicit LiveEvents(const std::filesystem::path& file);

  // test_accuracy, test_loss and train_loss, as far as they are known.
  void add(const event::Evaluation& evaluation);

  // iteration_time_s, compute_s and exposed_exchange_s.
  void add(const event::Iteration& iteration);
  void add(const event::ReplayedIteration& iteration);

  // link_use: the share of its cap that the busiest capped direction has used lately.
  void add_link_use(double share);

  // The run has ended. Replays and simulations have their curves only now.
  void end(const Record& record);

 private:
  void add(std::optional<double> train_time_s, std::int64_t step, const std::vector<Scalar>& scalars);
  void add(std::int64_t iteration, const std::optional<event::IterationTimes>& times);

  std::filesystem::path path_;
  FileDescriptor file_;
  double started_at_s_;
  EventFile events_;
  double train_time_s_ = 0;  // of the last event
  std::int64_t step_ = 0;
  bool has_curve_ = false;
};

}  // namespace thinpipe
