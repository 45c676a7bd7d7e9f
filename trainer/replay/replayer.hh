// Goes through iterations of a communication trace as a training would: lets the time of its computing pass,
// and makes the same calls of collectives, with data of no meaning, on a communication thread.
#pragma once

#include <future>
#include <map>
#include <random>
#include <vector>

#include <boost/asio/thread_pool.hpp>

#include "harness/replay/timed_layout.hh"
#include "trainer/collectives/metered.hh"
#include "trainer/communication_thread.hh"
#include "trainer/replay/computing.hh"

namespace thinpipe::trainer {

struct ReplayedIteration {
  double iteration_time_s = 0;
  double load_s = 0;
  double exposed_exchange_s = 0;  // waited for after computing
  double first_bucket_s = 0;      // from the batch to its release
  double processor_s = 0;         // of a core, in place of computing
  Section section = {};
};

class Replayer {
 public:
  // All must outlive this. The trace and the times fit together (check_profile_fits), and the collective has
  // as many workers as the trace. Starts its threads with the caller's priority; the caller may lower its own
  // afterwards. variation: of what an iteration computes, a compute profile's.
  Replayer(const CommunicationTrace& trace, const ComputeTimes& times, Computing computing,
           MeteredCollective& collective, double variation = 0);
  ~Replayer();
  Replayer(const Replayer&) = delete;
  Replayer& operator=(const Replayer&) = delete;
  Replayer(Replayer&&) = delete;
  Replayer& operator=(Replayer&&) = delete;

  // Exchanges as many of the first buckets as hold some megabytes of gradient, so that memory and connections
  // are there for what is timed; of a local step, none. All workers at the same time.
  void warm_up(const std::optional<std::size_t>& exchange);

  // One iteration with this worker's exchange, or a local step; all workers at the same time. starts: as long
  // as a training's first.
  ReplayedIteration iterate(const std::optional<std::size_t>& exchange, bool starts = false);

 private:
  double next_pace();
  void load();
  void exchange_bucket(std::size_t bucket);
  void call(const CollectiveCall& call, const CallCoding& coding);
  CodePieces::Piece spend_by_pieces(double time_s, std::int64_t elements);
  torch::Tensor elements(ElementType type, std::int64_t count);

  const CommunicationTrace& trace_;
  const ComputeTimes& times_;
  MeteredCollective& collective_;
  std::vector<float> memory_;  // that computing goes through
  double variation_;
  std::mt19937_64 random_;  // another on each worker, the same in each run
  ComputingTime computing_;
  ComputingTime coding_;     // on the communication thread
  ComputingTime preparing_;  // on its own
  boost::asio::thread_pool preparing_thread_{1};
  std::future<void> prepared_;  // the batch of the iteration to come
  std::vector<std::vector<TimedBucket>> layouts_;
  std::map<ElementType, torch::Tensor> storage_;  // zeros, as many as were needed so far
  const Exchange* current_ = nullptr;
  Section section_;             // of the iteration; written by the communication thread until it is drained
  CommunicationThread thread_;  // last: it uses all of the above
};

}  // namespace thinpipe::trainer
