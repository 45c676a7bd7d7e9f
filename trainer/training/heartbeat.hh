// SPDX-License-Identifier: Apache-2.0
// Signs of life: while a Heartbeat lives, an event every second reports that the process runs, and its
// training's iteration and phase. A stopped or starved process sends no events, unlike one that waits.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "common/protocol/event.hh"
#include "trainer/training/worker_status.hh"

namespace thinpipe::trainer {

class Heartbeat {
 public:
  // `worker_status` must outlive this object. The heartbeat's own thread, with the caller's current priority,
  // calls `send` with each event.
  Heartbeat(const WorkerStatus& worker_status, std::function<void(const Event&)> send);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;
  Heartbeat(Heartbeat&&) = delete;
  Heartbeat& operator=(Heartbeat&&) = delete;

 private:
  void run();

  const WorkerStatus& worker_status_;
  std::function<void(const Event&)> send_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace thinpipe::trainer
