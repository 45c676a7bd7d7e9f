// SPDX-License-Identifier: Apache-2.0
// A thread that runs numbered jobs in ascending order, each after its release. The order of release does not
// matter, so that every worker runs its collectives in the same order.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace thinpipe::trainer {

class CommunicationThread {
 public:
  // The thread calls `work` with the number of the job.
  explicit CommunicationThread(std::function<void(std::size_t)> work);
  // Waits for the job in progress; jobs that have not begun are dropped.
  ~CommunicationThread();
  CommunicationThread(const CommunicationThread&) = delete;
  CommunicationThread& operator=(const CommunicationThread&) = delete;
  CommunicationThread(CommunicationThread&&) = delete;
  CommunicationThread& operator=(CommunicationThread&&) = delete;

  // Begins a round of jobs 0 … jobs-1, none released yet. The previous round must have been drained.
  void begin(std::size_t jobs);
  void release(std::size_t job);
  // Waits until every job of the round is done; throws a job's exception. Afterwards the caller can read
  // everything that the jobs wrote.
  void drain();

 private:
  void run();

  std::function<void(std::size_t)> work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> released_;
  std::size_t next_ = 0;
  std::exception_ptr failure_;
  bool stopping_ = false;
  std::jthread thread_;
};

}  // namespace thinpipe::trainer
