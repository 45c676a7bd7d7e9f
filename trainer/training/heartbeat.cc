// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/heartbeat.hh"

#include <chrono>
#include <utility>

namespace thinpipe::trainer {
namespace {

constexpr std::chrono::seconds period{1};

}  // namespace

Heartbeat::Heartbeat(const WorkerStatus& worker_status, std::function<void(const Event&)> send)
    : worker_status_(worker_status), send_(std::move(send)), thread_([this] { run(); }) {}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void Heartbeat::run() {
  std::unique_lock lock(mutex_);
  do {
    send_(event::Heartbeat{.iteration = worker_status_.iteration(), .phase = worker_status_.phase()});
  } while (!ended_.wait_for(lock, period, [this] { return ending_; }));
}

}  // namespace thinpipe::trainer
