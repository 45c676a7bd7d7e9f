#include "harness/simulation/simulator.hh"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <queue>

#include <fmt/format.h>

#include "common/protocol/timed_layout.hh"
#include "harness/simulation/fluid_network.hh"

namespace thinpipe {
namespace {

// One worker's communication thread: its buckets in order, each bucket's calls, and the current call's
// schedule.
struct Worker {
  const Exchange* exchange = nullptr;
  std::size_t bucket = 0;
  std::size_t call = 0;
  MessageSchedule schedule = {};
  std::vector<std::size_t> next_messages = {};  // one per lane of the schedule
  bool begun = false;                           // whether the bucket has begun
  std::optional<double> call_began_s = {};      // nullopt while it waits for its bucket
  CallCoding coding = {};                       // around the call
  bool waits_for_coding = false;                // and for nothing else
  double exchange_s = 0;
  double done_s = 0;
  std::map<int, std::deque<double>> arrived = {};  // bytes of messages not yet received, by sender
  std::size_t point_to_point_messages = 0;         // point-to-point messages not yet taken
};

// A message, from its sending to its arrival.
struct Message {
  std::size_t from = 0;
  std::size_t to = 0;
  double bytes = 0;
  bool is_point_to_point = false;
};

class Iteration {
 public:
  Iteration(const netem::Topology& topology, const CommunicationTrace& trace, const ComputeTimes& times,
            const CollectiveRouting& routing, const JointStep& step)
      : network_(topology), times_(times), routing_(routing), workers_(step.size()) {
    for (std::size_t rank = 0; rank < step.size(); ++rank) {
      workers_[rank].exchange = &trace.exchanges[step[rank].value()];
    }
    layout_ = timed_layout(trace.layouts[workers_.front().exchange->layout], trace, times);
  }

  SimulatedIteration run() {
    for (std::size_t rank = 0; rank < workers_.size(); ++rank) wake_at(0, rank);
    while (!timers_.empty() || network_.next_completion_s() < infinity) {
      const double timer_s = timers_.empty() ? infinity : timers_.top().at_s - now_s_;
      const double passes_s = std::max(0.0, std::min(timer_s, network_.next_completion_s()));
      now_s_ += passes_s;
      for (const std::size_t id : network_.advance(passes_s)) sent(id);
      while (!timers_.empty() && timers_.top().at_s <= now_s_) {
        const auto action = timers_.top().action;
        timers_.pop();
        action();
      }
    }
    return result();
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  struct Timer {
    double at_s = 0;
    std::size_t number = 0;  // timers of equal times run in the order in which they were set
    std::function<void()> action;
    bool operator>(const Timer& other) const {
      return at_s > other.at_s || (at_s == other.at_s && number > other.number);
    }
  };

  void set_timer(double at_s, std::function<void()> action) {
    timers_.push({at_s, timers_set_++, std::move(action)});
  }
  void wake_at(double at_s, std::size_t rank) {
    set_timer(at_s, [this, rank] { resume(rank); });
  }

  // Advances the worker until it has to wait.
  void resume(std::size_t rank) {
    Worker& worker = workers_[rank];
    while (worker.bucket < layout_.size()) {
      const auto& calls = worker.exchange->buckets[worker.bucket];
      if (!worker.begun) {
        worker.begun = true;
        const double ready_s = times_.load_s + layout_[worker.bucket].ready_s;
        begin_call(rank);
        return wake_at(std::max(now_s_, ready_s) + worker.coding.before_s, rank);
      }
      const double after_s = worker.coding.after_s;
      if (worker.call < calls.size()) {
        if (!worker.call_began_s) worker.call_began_s = now_s_;
        if (!follow_schedule(rank) || !is_coded(rank)) return;
        worker.exchange_s += now_s_ - *worker.call_began_s - worker.coding.within_s();
        worker.call_began_s.reset();
        worker.waits_for_coding = false;
        ++worker.call;
        if (worker.call < calls.size()) {
          begin_call(rank);
          if (worker.coding.before_s > 0) return wake_at(now_s_ + worker.coding.before_s, rank);
          continue;
        }
      }
      ++worker.bucket;
      worker.call = 0;
      worker.begun = false;
      if (after_s > 0) return wake_at(now_s_ + after_s, rank);
    }
    worker.done_s = now_s_;
  }

  void begin_call(std::size_t rank) {
    Worker& worker = workers_[rank];
    const auto& calls = worker.exchange->buckets[worker.bucket];
    worker.coding =
        layout_[worker.bucket].coding(times_, calls, worker.call, !routing_.reduction_tree.empty());
    worker.schedule.clear();
    if (worker.call < calls.size()) {
      worker.schedule = message_schedule_of(calls[worker.call], static_cast<int>(rank),
                                            static_cast<int>(workers_.size()), routing_);
    }
    worker.next_messages.assign(worker.schedule.size(), 0);
  }

  // Returns whether the current call's pieces have been encoded and decoded, which may take longer than
  // sending them. If not, sets a timer.
  bool is_coded(std::size_t rank) {
    Worker& worker = workers_[rank];
    const double coded_at_s = *worker.call_began_s + worker.coding.within_s();
    if (now_s_ >= coded_at_s) return true;
    if (!worker.waits_for_coding) {
      // A message that arrives at exactly that time may have woken the worker before.
      set_timer(coded_at_s, [this, rank] {
        if (workers_[rank].waits_for_coding) resume(rank);
      });
    }
    worker.waits_for_coding = true;
    return false;
  }

  // Returns false if the worker has to wait.
  bool follow_schedule(std::size_t rank) {
    Worker& worker = workers_[rank];
    bool ended = true;
    for (std::size_t i = 0; i < worker.schedule.size(); ++i) {
      ended = follow_lane(rank, worker.schedule[i], worker.next_messages[i]) && ended;
    }
    return ended;
  }

  bool follow_lane(std::size_t rank, const Lane& lane, std::size_t& next) {
    Worker& worker = workers_[rank];
    for (; next < lane.messages.size(); ++next) {
      const ScheduledMessage& message = lane.messages[next];
      switch (message.kind) {
        case ScheduledMessage::Kind::send:
          send({rank, static_cast<std::size_t>(message.peer), message.bytes, message.is_point_to_point});
          break;
        case ScheduledMessage::Kind::receive_any:
          if (worker.point_to_point_messages == 0) return false;
          --worker.point_to_point_messages;
          break;
        case ScheduledMessage::Kind::receive:
          std::deque<double>& arrived = worker.arrived[message.peer];
          if (arrived.empty()) return false;
          for (const int peer : lane.forwards_to)
            send({rank, static_cast<std::size_t>(peer), arrived.front()});
          arrived.pop_front();
          break;
      }
    }
    return true;
  }

  // Messages of a pair are sent one after the other, as over one connection.
  void send(const Message& message) {
    std::deque<Message>& queue = queues_[{message.from, message.to}];
    queue.push_back(message);
    if (queue.size() == 1) set_out(message);
  }

  void set_out(const Message& message) {
    const std::size_t id = message.from * workers_.size() + message.to;
    network_.start(message.from, message.to, message.bytes, id);
  }

  void sent(std::size_t id) {
    const std::pair pair(id / workers_.size(), id % workers_.size());
    std::deque<Message>& queue = queues_.at(pair);
    const Message message = queue.front();
    queue.pop_front();
    if (!queue.empty()) set_out(queue.front());
    set_timer(now_s_ + network_.latency_s(pair.first, pair.second), [this, message] { arrive(message); });
  }

  void arrive(const Message& message) {
    Worker& worker = workers_[message.to];
    if (message.is_point_to_point) {
      ++worker.point_to_point_messages;
    } else {
      worker.arrived[static_cast<int>(message.from)].push_back(message.bytes);
    }
    if (worker.call_began_s) resume(message.to);
  }

  SimulatedIteration result() const {
    double last_s = 0;
    for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
      if (workers_[rank].bucket < layout_.size()) {
        throw Error(fmt::format("the trace's calls deadlock: worker {} waits at bucket {}", rank,
                                workers_[rank].bucket));
      }
      last_s = std::max(last_s, workers_[rank].done_s);
    }
    const double computed_s = times_.load_s + times_.compute_s;
    return {.iteration_time_s = std::max(last_s, computed_s) + times_.finish_s,
            .exposed_exchange_s = std::max(0.0, workers_.front().done_s - computed_s),
            .exchange_s = workers_.front().exchange_s};
  }

  FluidNetwork network_;
  const ComputeTimes& times_;
  const CollectiveRouting& routing_;
  std::vector<Worker> workers_;
  std::vector<TimedBucket> layout_;
  std::map<std::pair<std::size_t, std::size_t>, std::deque<Message>> queues_;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::size_t timers_set_ = 0;
  double now_s_ = 0;
};

}  // namespace

SimulatedIteration Simulator::iterate(const JointStep& step) const {
  const bool exchanges = step.front().has_value();
  if (!exchanges) return {.iteration_time_s = times_.load_s + times_.compute_s + times_.finish_s};
  return Iteration(topology_, trace_, times_, routing_, step).run();
}

}  // namespace thinpipe
