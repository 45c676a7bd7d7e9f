// SPDX-License-Identifier: Apache-2.0
// Shows the progress of an experiment on standard error: on a terminal one live line, elsewhere plain log
// lines. Standard output has only results.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/protocol/event.hh"
#include "harness/records/record_data.hh"

namespace thinpipe {

// In a run's folder while the run is in progress, for `thinpipe status`: a line with its label and one with its status.
inline constexpr const char* progress_file_name = ".progress";

class Progress {
 public:
  // `runs`: their number.
  explicit Progress(std::size_t runs);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Begins the run with this index (from 0). `iterations`: planned, 0 if unknown. `stage`: shown until the first
  // iteration.
  void begin(std::size_t index, const std::string& label, std::int64_t iterations,
             const std::string& stage = "starting");
  // Keeps label and status in this file, too, until the run ends. Failures to write it are ignored: it is only for people.
  void publish(std::filesystem::path file);
  // Each takes an event of rank 0 or of pre-training.
  void on_event(const event::Pretraining& pretraining);
  void on_event(const event::Pretrained& pretrained);
  void on_event(const event::ReplayedIteration& iteration);
  void on_event(const event::Evaluation& evaluation);
  void on_event(const event::Iteration& iteration);
  // Sets the share of the busiest capped link's rate in use, 0..1.
  void link_use(double share) { link_use_ = share; }
  // Shows what the run waits for before it can start; draws as tick() does.
  void wait(std::string stage);
  // Redraws the live line, and rewrites the file, if it is time to. Call it as often as convenient.
  void tick();
  // Prints a line that stays.
  void note(const std::string& line);
  // Ends the run: prints its summary from `record`.
  void end(const Record& record);

 private:
  using Clock = std::chrono::steady_clock;

  std::string prefix() const;
  std::string status() const;
  void draw();
  void erase();

  bool terminal_;
  std::size_t runs_;
  std::size_t index_ = 0;
  std::string label_;
  std::int64_t planned_iterations_ = 0;
  std::int64_t iteration_ = 0;
  std::int64_t trained_before_ = 0;  // iterations of an earlier part of the run
  std::int64_t epoch_ = 0;
  std::vector<double> accuracies_;  // of the evaluations so far
  double iteration_time_s_ = 0;     // smoothed
  double link_use_ = -1;            // below 0: no capped link
  std::string stage_;               // shown before the first iteration
  Clock::time_point trained_since_;
  Clock::time_point shown_at_;
  std::filesystem::path file_;  // empty: none
  Clock::time_point written_at_;
  bool line_shown_ = false;
};

// Returns one line about how a run ended.
std::string summary_line(const Record& record);

}  // namespace thinpipe
