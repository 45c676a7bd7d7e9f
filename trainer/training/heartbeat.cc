#include "trainer/training/heartbeat.hh"

#include <chrono>
#include <utility>

namespace thinpipe::trainer {
namespace {

constexpr std::chrono::seconds period{1};

}  // namespace

Heartbeat::Heartbeat(const Pulse& pulse, std::function<void(const Event&)> send)
    : pulse_(pulse), send_(std::move(send)), thread_([this] { run(); }) {}

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
    send_(event::Heartbeat{.iteration = pulse_.iteration(), .phase = pulse_.phase()});
  } while (!ended_.wait_for(lock, period, [this] { return ending_; }));
}

}  // namespace thinpipe::trainer
