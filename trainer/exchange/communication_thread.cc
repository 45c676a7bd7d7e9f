// SPDX-License-Identifier: Apache-2.0
#include "trainer/exchange/communication_thread.hh"

#include <utility>

namespace thinpipe::trainer {

CommunicationThread::CommunicationThread(std::function<void(std::size_t)> work)
    : work_(std::move(work)), thread_([this] { run(); }) {}

CommunicationThread::~CommunicationThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
}

void CommunicationThread::begin(std::size_t jobs) {
  const std::lock_guard lock(mutex_);
  released_.assign(jobs, false);
  next_ = 0;
}

void CommunicationThread::release(std::size_t job) {
  {
    const std::lock_guard lock(mutex_);
    released_[job] = true;
  }
  changed_.notify_all();
}

void CommunicationThread::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return failure_ || next_ == released_.size(); });
  if (failure_) std::rethrow_exception(failure_);
}

void CommunicationThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || (next_ < released_.size() && released_[next_]); });
    if (stopping_) return;
    const std::size_t job = next_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      work_(job);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    ++next_;
    if (failure) {
      failure_ = failure;
      stopping_ = true;
    }
    changed_.notify_all();
  }
}

}  // namespace thinpipe::trainer
