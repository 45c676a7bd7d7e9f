// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/live_events.hh"

#include <chrono>

#include <fcntl.h>

#include "harness/reports/tensorboard.hh"

namespace thinpipe {
namespace {

FileDescriptor begin_file(const std::filesystem::path& file) {
  std::filesystem::create_directories(file.parent_path());
  return FileDescriptor::open(file, O_WRONLY | O_CREAT | O_TRUNC);
}

double now_since_1970_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

LiveEvents::LiveEvents(const std::filesystem::path& file)
    : path_(file), file_(begin_file(file)), started_at_s_(now_since_1970_s()), events_(started_at_s_) {}

void LiveEvents::add(const event::Evaluation& evaluation) {
  has_curve_ = true;
  add(evaluation.train_time_s, evaluation.iteration,
      evaluation_scalars(evaluation.test_accuracy, evaluation.test_loss, evaluation.train_loss));
}

void LiveEvents::add(const event::Iteration& iteration) {
  add(iteration.iteration, iteration.times);
}

void LiveEvents::add(const event::ReplayedIteration& iteration) {
  add(iteration.iteration, iteration.times);
}

void LiveEvents::add(std::int64_t iteration, const std::optional<event::IterationTimes>& times) {
  if (!times) return;
  std::vector<Scalar> scalars = {{"iteration_time_s", times->iteration_time_s}};
  if (times->compute_s) scalars.push_back({"compute_s", *times->compute_s});
  if (times->exposed_exchange_s) scalars.push_back({"exposed_exchange_s", *times->exposed_exchange_s});
  add(times->train_time_s, iteration, scalars);
}

void LiveEvents::add_link_use(double share) {
  add(train_time_s_, step_, {{"link_use", share}});
}

void LiveEvents::end(const Record& record) {
  if (has_curve_) return;
  for (const record::CurvePoint& point : record.curve)
    add(point.train_time_s, point.iteration,
        evaluation_scalars(point.test_accuracy, point.test_loss, point.train_loss));
}

void LiveEvents::add(std::optional<double> train_time_s, std::int64_t step,
                     const std::vector<Scalar>& scalars) {
  train_time_s_ = train_time_s.value_or(train_time_s_);
  step_ = step;
  events_.add(started_at_s_ + train_time_s_, step, scalars);
  write_all(file_, events_.take_bytes(), "write " + path_.string());
}

}  // namespace thinpipe
