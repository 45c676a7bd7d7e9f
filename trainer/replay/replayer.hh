// SPDX-License-Identifier: Apache-2.0
// Replays iterations of a communication trace as a training run would: it lets the compute time pass, and
// makes the same collective calls, with meaningless data, on a communication thread.
#pragma once

#include <future>
#include <map>
#include <random>
#include <vector>

#include <boost/asio/thread_pool.hpp>

#include "common/protocol/timed_layout.hh"
#include "trainer/collectives/metered.hh"
#include "trainer/exchange/communication_thread.hh"
#include "trainer/replay/compute_emulation.hh"

namespace thinpipe::trainer {

struct ReplayedIteration {
  double iteration_time_s = 0;
  double ended_s = 0;  // by the monotonic clock
  double load_s = 0;
  double exposed_exchange_s = 0;  // wait for the exchange after compute
  double first_bucket_s = 0;      // from the batch until the first bucket's release
  double cpu_s = 0;               // CPU time spent in place of compute
  Section section = {};
};

class Replayer {
 public:
  // All references must outlive this object. The trace and the times must match (check_profile_fits), and the
  // collective must have as many workers as the trace. Threads start with the caller's priority; the
  // caller may lower its own priority afterwards. variation: a compute profile's variation of the
  // compute per iteration.
  Replayer(const CommunicationTrace& trace, const ComputeTimes& times, ComputeEmulation compute_emulation,
           MeteredCollective& collective, double variation = 0);
  ~Replayer();
  Replayer(const Replayer&) = delete;
  Replayer& operator=(const Replayer&) = delete;
  Replayer(Replayer&&) = delete;
  Replayer& operator=(Replayer&&) = delete;

  // Exchanges the first buckets, up to some megabytes of gradient, so that memory and connections are ready
  // before the timed iterations. Does nothing for a local step. Collective: all workers must call it.
  void warm_up(const std::optional<std::size_t>& exchange);

  // Replays one iteration with this worker's exchange, or a local step. If the exchange overlaps with later steps
  // (Exchange::overlap_steps), it begins now, these iterations follow, and the last one waits for it. Collective: all
  // workers must call it. starts: the iteration takes as long as the first one of a training run.
  std::vector<ReplayedIteration> replay(const std::optional<std::size_t>& exchange, bool starts = false);

 private:
  // Where in an iteration an exchange begins, and whether it ends there.
  enum class Part { none, during_backward, after_update, end };

  ReplayedIteration iterate(Part part, bool starts = false);
  void begin_exchange();
  void wait(ReplayedIteration& iteration);
  double next_pace();
  void load();
  void exchange_bucket(std::size_t bucket);
  void call(const CollectiveCall& call, const CallCoding& coding);
  CodeChunks::Function spend_by_chunks(double time_s, std::int64_t elements);
  torch::Tensor elements(ElementType type, std::int64_t count);

  const CommunicationTrace& trace_;
  const ComputeTimes& times_;
  MeteredCollective& collective_;
  std::vector<float> memory_;  // for the EmulatedCompute members
  double variation_;
  std::mt19937_64 random_;  // differs by worker, is the same in each run
  EmulatedCompute compute_;
  EmulatedCompute coding_compute_;     // used on the communication thread
  EmulatedCompute preparing_compute_;  // used on preparing_thread_
  boost::asio::thread_pool preparing_thread_{1};
  std::future<void> prepared_;  // the batch of the next iteration
  std::vector<std::vector<TimedBucket>> layouts_;
  std::map<ElementType, torch::Tensor> storage_;  // zeros, grown on demand
  const Exchange* current_ = nullptr;
  Section section_;             // of the exchange; written by the communication thread until it is drained
  CommunicationThread thread_;  // last: it uses all of the above
};

}  // namespace thinpipe::trainer
