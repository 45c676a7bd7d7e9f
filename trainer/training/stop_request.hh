// SPDX-License-Identifier: Apache-2.0
// A request to stop training, and the iteration after which all workers do. The workers of a machine, processes or
// threads, share a small mapped file, so that asking for it costs an iteration nothing:
//
//   SIGTERM to any worker requests a stop. Rank 0 sees the request and chooses an iteration that no worker has ended,
//   because all need rank 0's part of an exchange before. So each worker sees the choice before it has to stop.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace thinpipe::trainer {

class StopRequest {
 public:
  // Maps the file, of 16 bytes that are zero at first, and takes SIGTERM as a request from now on. There is one object
  // per process at a time. Throws SystemError naming the path.
  explicit StopRequest(const std::string& path);
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;
  StopRequest(StopRequest&&) = delete;
  StopRequest& operator=(StopRequest&&) = delete;

  void request() { shared_->requested = 1; }
  bool requested() const { return shared_->requested != 0; }

  // Rank 0 chooses the last iteration. The first call decides.
  void stop_after(std::int64_t iteration);
  // Returns whether training stops after this iteration or an earlier one.
  bool is_due(std::int64_t iteration) const;

 private:
  struct Shared {
    std::atomic<std::int64_t> requested;
    std::atomic<std::int64_t> last_iteration;  // 0: not chosen
  };
  static_assert(std::atomic<std::int64_t>::is_always_lock_free, "processes and a signal handler share them");

  static void on_signal(int number);

  static std::atomic<StopRequest*> receiver;

  Shared* shared_ = nullptr;
};

}  // namespace thinpipe::trainer
