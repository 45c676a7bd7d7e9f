// Signs of life: as long as this lives, an event every second says that the process runs and what its
// training is at. A process that is stopped or starved falls silent, and whoever listens can tell it from one
// that waits.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "harness/support/json_object.hh"
#include "trainer/pulse.hh"

namespace thinpipe::trainer {

class Heartbeat {
 public:
  // `pulse` must outlive this. `send` is called on the heartbeat's own thread, which keeps the priority that
  // the caller has now: {"event": "heartbeat", "iteration": …, "phase": …}.
  Heartbeat(const Pulse& pulse, std::function<void(const Json&)> send);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;
  Heartbeat(Heartbeat&&) = delete;
  Heartbeat& operator=(Heartbeat&&) = delete;

 private:
  void run();

  const Pulse& pulse_;
  std::function<void(const Json&)> send_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace thinpipe::trainer
