// SPDX-License-Identifier: Apache-2.0
// What each worker is doing now, for messages that explain why workers wait for each other.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "trainer/collectives/borrowed.hh"

namespace thinpipe::trainer {

// Shared by the workers' threads and a watchdog.
class CallLog {
 public:
  explicit CallLog(int workers) : doing_(static_cast<std::size_t>(workers), "has not started") {}

  void set(int rank, std::string doing);

  // Returns for example "worker 0 waits in all_reduce sum of 4 x Float; worker 1 has left synchronise()".
  std::string describe() const;

  // Returns the number of set() calls. It stays the same while all workers wait.
  std::int64_t changes() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> doing_;
  std::int64_t changes_ = 0;
};

// Logs the collective calls of one worker. A call that failed stays in the log.
class LoggedCollective : public Borrowed {
 public:
  LoggedCollective(Collective& inner, CallLog& log) : Borrowed(inner), log_(log) {}

  void all_reduce(torch::Tensor tensor, Reduction reduction) override;
  void all_reduce_quantised(torch::Tensor codes, int largest, const CodeChunks& chunks) override;
  std::vector<EdgeBytes> sparse_all_reduce(torch::Tensor tensor,
                                           std::span<const std::uint32_t> indices) override;
  torch::Tensor all_gather_v(const torch::Tensor& input, std::span<const std::int64_t> counts) override;
  torch::Tensor all_to_all_v(const torch::Tensor& input, std::span<const std::int64_t> send_counts,
                             std::span<const std::int64_t> receive_counts) override;
  void broadcast(torch::Tensor tensor, int root) override;

  // Waits for the other workers after a step.
  void meet_after_step();

 private:
  auto logged(const std::string& call, const auto& action);

  CallLog& log_;
};

}  // namespace thinpipe::trainer
