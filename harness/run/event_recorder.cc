// SPDX-License-Identifier: Apache-2.0
#include "harness/run/event_recorder.hh"

#include <chrono>
#include <utility>
#include <variant>

#include <fcntl.h>
#include <fmt/format.h>

#include "harness/records/interrupted_run.hh"

namespace thinpipe {

namespace fs = std::filesystem;

namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

EventRecorder::EventRecorder(const Run& run, fs::path folder, const fs::path& event_file, Recipients to)
    : run_(run),
      folder_(std::move(folder)),
      to_(std::move(to)),
      iterations_(FileDescriptor::open(folder_ / iterations_file_name, O_WRONLY | O_CREAT | O_TRUNC)) {
  if (!event_file.empty()) live_events_.emplace(event_file);
}

void EventRecorder::use(LiveNetwork& network, bool keeps_worker_times) {
  network_ = &network;
  keeps_worker_times_ = keeps_worker_times;
}

void EventRecorder::restore(const std::vector<Event>& events) {
  for (const Event& event : events) restore(event);
  // The file is another one now.
  iterations_ = FileDescriptor::open(folder_ / iterations_file_name, O_WRONLY | O_APPEND);
}

void EventRecorder::restore(const Event& event) {
  if (const auto* const resumed = std::get_if<event::Resumed>(&event))
    to_.record.go_back_to(resumed->iteration);
  if (const auto* const iteration = std::get_if<event::Iteration>(&event)) {
    to_.record.add(*iteration);
    if (live_events_) live_events_->add(*iteration);
  }
  if (const auto* const evaluation = std::get_if<event::Evaluation>(&event)) {
    // Workers that resume with an evaluation, or from the beginning, repeat it.
    const auto& curve = to_.record.measurements().curve();
    if (!curve.empty() && evaluation->iteration <= curve.back().iteration)
      to_.record.go_back_to(evaluation->iteration - 1);
    to_.record.add(*evaluation);
    if (live_events_) live_events_->add(*evaluation);
  }
}

void EventRecorder::add(std::int64_t rank, const Event& event) {
  std::visit([this, rank](const auto& each) { take(rank, each); }, event);
}

void EventRecorder::add_link_use(double share) {
  to_.progress.link_use(share);
  if (live_events_ && began_) live_events_->add_link_use(share);
}

void EventRecorder::begin() {
  began_ = true;
  to_.training_begins();
}

void EventRecorder::end(const Record& record) {
  if (live_events_) live_events_->end(record);
}

void EventRecorder::take(std::int64_t rank, const event::Started& started) {
  to_.log->info("worker {} has started, process {}", rank, started.pid);
  if (rank == 0) to_.record.add(started);
}

void EventRecorder::take(std::int64_t rank, const event::Finished& finished) {
  to_.record.add(rank, finished);
}

// Iterations before the beginning of training, of a trainer that does not wait for it, do not belong to it. The clocks of
// other machines cannot be compared.
void EventRecorder::take(std::int64_t rank, const event::WorkerTimes& times) {
  if (!keeps_worker_times_ || !network_ || !began_) return;
  if (!worker_series_) worker_series_.emplace(folder_ / "workers.jsonl", network_->began_s());
  worker_series_->add(rank, times);
}

void EventRecorder::take(std::int64_t rank, const auto& event) {
  if (rank == 0) take(event);
}

void EventRecorder::take(const event::Dataset& dataset) {
  to_.record.add(dataset);
}

void EventRecorder::take(event::Resumed resumed) {
  go_on_after(resumed.iteration, resumed.iteration, resumed.train_time_s);
  resumed.train_time_s += to_.restarts.lost_train_time_s();
  if (measures_time()) write_line(resumed);
  if (!began_) begin();  // continues an earlier part
}

void EventRecorder::take(event::IterationStarted started) {
  started.train_time_s += to_.restarts.lost_train_time_s();
  if (network_) network_->take(started, now_s());
}

void EventRecorder::take(event::Iteration iteration) {
  to_.progress.on_event(iteration);
  if (!measures_time()) iteration.times.reset();
  if (iteration.times) iteration.times->train_time_s += to_.restarts.lost_train_time_s();
  if (network_) network_->take(iteration, now_s());
  if (network_) network_->mark("iteration", iteration.iteration, now_s());
  if (live_events_) live_events_->add(iteration);
  write_line(iteration);
  to_.record.add(iteration);
}

// If workers resume with an evaluation, that evaluation is repeated.
void EventRecorder::take(event::Evaluation evaluation) {
  go_on_after(evaluation.iteration, evaluation.iteration - 1, evaluation.train_time_s);
  to_.progress.on_event(evaluation);
  if (!measures_time()) evaluation.train_time_s.reset();
  if (evaluation.train_time_s) *evaluation.train_time_s += to_.restarts.lost_train_time_s();
  write_line(evaluation);
  if (!began_) begin();  // a script's training has begun before
  if (network_) network_->mark("evaluation", evaluation.iteration, now_s());
  if (live_events_) live_events_->add(evaluation);
  to_.record.add(std::move(evaluation));
}

// After the last evaluation: workers that fail before it repeat the last iterations, which are metered like all others.
void EventRecorder::take(const event::Summary& summary) {
  to_.record.add(summary);
  if (network_) network_->end();
}

void EventRecorder::take(const event::Replaying& /*replaying*/) {
  if (!began_) begin();
}

void EventRecorder::take(const event::ReplayedIteration& iteration) {
  to_.progress.on_event(iteration);
  if (network_) network_->mark("iteration", iteration.iteration, now_s());
  if (live_events_) live_events_->add(iteration);
  write_line(iteration);
  to_.record.add(iteration);
}

void EventRecorder::take(const event::Replayed& replayed) {
  to_.record.add(replayed);
  if (network_) network_->end();
}

void EventRecorder::take(const auto& /*other*/) {}

// After a restart, takes the report of where workers resume: at a checkpoint, or at the beginning. The curve
// is valid up to `valid_iteration`.
void EventRecorder::go_on_after(std::int64_t iteration, std::int64_t valid_iteration,
                                std::optional<double> train_time_s) {
  if (!to_.restarts.awaits_resumption()) return;
  if (!train_time_s) throw InvalidEvent("resumed without a \"train_time_s\"");
  to_.restarts.resume(iteration, *train_time_s, now_s());
  to_.record.go_back_to(valid_iteration);
  to_.note(fmt::format("resumes after iteration {}", iteration));
}

void EventRecorder::write_line(const Event& event) const {
  write_all(iterations_, to_json(event).dump() + "\n", "write " + (folder_ / iterations_file_name).string());
}

// The workers of a convergence run share a CPU, so that their times cannot be compared.
bool EventRecorder::measures_time() const {
  return run_.mode != Mode::converge;
}

}  // namespace thinpipe
