// SPDX-License-Identifier: Apache-2.0
#include "harness/simulation/simulator.hh"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "common/protocol/timed_layout.hh"
#include "harness/simulation/fluid_network.hh"
#include "harness/simulation/shared_cores.hh"

namespace thinpipe {
namespace {

// A message, from its sending to its arrival.
struct Message {
  enum class Content {
    data,
    ready,   // the sender waits for a message from the receiver
    request  // the sender has a point-to-point message; who takes such messages answers that it is ready
  };

  std::size_t from = 0;
  std::size_t to = 0;
  double bytes = 0;
  bool is_point_to_point = false;
  int pieces = 1;  // of the message that this is a piece of
  Content content = Content::data;
};

// One worker: its communication thread with its buckets in order, each bucket's calls, and the current call's
// schedule; and how far its training thread has come.
struct Worker {
  const Exchange* exchange = nullptr;
  std::size_t bucket = 0;
  std::size_t call = 0;
  MessageSchedule schedule = {};
  std::vector<std::size_t> next_messages = {};  // one per lane of the schedule
  bool begun = false;                           // whether the bucket has begun
  bool waits_for_gradients = false;             // of the bucket
  std::optional<double> call_began_s = {};      // nullopt while it waits for its bucket
  CallCoding coding = {};                       // around the call
  bool is_coded = true;                         // whether the call's pieces have been encoded and decoded
  double exchange_s = 0;
  std::optional<double> exchanged_at_s = {};
  std::map<int, std::deque<Message>> arrived = {};  // messages not yet received, by sender
  std::size_t point_to_point_messages = 0;          // point-to-point messages not yet taken
  std::vector<std::size_t> requests = {};           // workers with one that came before this one takes any

  std::size_t milestones = 0;  // of the training thread, that it has reached
  std::optional<double> computed_at_s = {};
  bool is_prepared = true;  // whether the next batch is
  std::optional<double> ended_at_s = {};
};

// A message that is in flight, or whose CPU time is not over.
struct Departure {
  std::deque<Message> queue = {};
  int left = 0;          // of the transfer and the work at both ends, for the first message
  double latency_s = 0;  // of the first message, after these
};

// Of a pair's messages that leave when the receiver is ready.
struct Readiness {
  int times = 0;  // that the receiver was ready without a message that waits
  std::deque<Message> waiting = {};
};

double step_s(const ComputeTimes& times) {
  return times.load_s + times.compute_s + times.finish_s;
}

class Iteration {
 public:
  Iteration(const netem::Topology& topology, const CommunicationTrace& trace, const ComputeTimes& times,
            const CollectiveRouting& routing, const SimulatedMachine* machine, const JointStep& step)
      : network_(topology), times_(times), routing_(routing), machine_(machine), workers_(step.size()) {
    if (machine != nullptr) cores_.emplace(machine->model, step.size());
    for (std::size_t rank = 0; rank < step.size(); ++rank) {
      if (step[rank]) workers_[rank].exchange = &trace.exchanges[*step[rank]];
    }
    if (const Exchange* exchange = workers_.front().exchange; exchange != nullptr) {
      layout_ = timed_layout(trace.layouts[exchange->layout], trace, times);
      if (exchange->overlap_steps) release_all_at_once(*exchange->overlap_steps);
    }
    for (const TimedBucket& bucket : layout_) milestones_s_.push_back(times_.load_s + bucket.ready_s);
    std::ranges::sort(milestones_s_);
    milestones_s_.push_back(times_.load_s + times_.compute_s);
  }

  SimulatedIteration run() {
    for (std::size_t rank = 0; rank < workers_.size(); ++rank) begin(rank);
    for (double passes_s = next_s(); passes_s < infinity; passes_s = next_s()) {
      now_s_ += passes_s;
      std::vector<std::function<void()>> ended;
      if (cores_) cores_->advance(passes_s, ended);
      for (const std::size_t id : network_.advance(passes_s)) leave(id);
      for (const auto& action : ended) action();
      while (!timers_.empty() && timers_.top().at_s <= now_s_) {
        const auto action = timers_.top().action;
        timers_.pop();
        action();
      }
    }
    return result();
  }

 private:
  // Puts the exchange after the update of the weights or, if it overlaps with later steps, at the beginning of these.
  void release_all_at_once(std::int64_t overlap_steps) {
    const auto steps = static_cast<double>(std::max<std::int64_t>(1, overlap_steps));
    times_.compute_s = steps * step_s(times_) - times_.load_s;
    times_.prepare_s *= steps;
    steps_ = steps;
    times_.finish_s = 0;
    for (TimedBucket& bucket : layout_)
      bucket.ready_s = overlap_steps == 0 ? times_.compute_s : -times_.load_s;
  }

  static constexpr double infinity = std::numeric_limits<double>::infinity();

  struct Timer {
    double at_s = 0;
    std::size_t number = 0;  // timers of equal times run in the order in which they were set
    std::function<void()> action;
    bool operator>(const Timer& other) const {
      return at_s > other.at_s || (at_s == other.at_s && number > other.number);
    }
  };

  double next_s() {
    double next_s =
        std::min(timers_.empty() ? infinity : timers_.top().at_s - now_s_, network_.next_completion_s());
    if (cores_) next_s = std::min(next_s, cores_->next_completion_s());
    return std::max(0.0, next_s);
  }

  void set_timer(double at_s, std::function<void()> action) {
    timers_.push({at_s, timers_set_++, std::move(action)});
  }

  // Spends a worker's time on the machine's cores, or on its own if there is no machine.
  void spend(std::size_t rank, double time_s, Cores::Priority priority, std::function<void()> at_end) {
    if (cores_ && machine_->computes_on_cores) {
      cores_->start(rank, time_s, priority, std::move(at_end));
    } else {
      set_timer(now_s_ + time_s, std::move(at_end));
    }
  }

  // Returns how long workers wait for a core although some are free. Where they do does not matter: they all wait for
  // the last one.
  double balancing_s() const {
    if (!cores_ || !machine_->computes_on_cores) return 0;
    const MachineModel& model = machine_->model;
    const auto workers = static_cast<double>(workers_.size());
    const double sharing =
        std::min(workers, static_cast<double>(model.workers_per_machine.value_or(workers_.size())));
    return sharing > model.cores ? steps_ * model.balancing_s : 0;
  }

  // Starts the training thread and, if that takes part in it, the preparation of the next batch.
  void begin(std::size_t rank) {
    if (cores_ && machine_->computes_on_cores && times_.prepare_s > 0) {
      workers_[rank].is_prepared = false;
      spend(rank, times_.prepare_s, Cores::Priority::compute, [this, rank] {
        workers_[rank].is_prepared = true;
        end_if_done(rank);
      });
    }
    if (balancing_s() > 0) {
      set_timer(balancing_s(), [this, rank] { compute(rank); });
    } else {
      compute(rank);
    }
    if (layout_.empty()) workers_[rank].exchanged_at_s = 0;
    resume(rank);
  }

  // Computes up to the next bucket's gradients, or to the end.
  void compute(std::size_t rank) {
    Worker& worker = workers_[rank];
    const double reached_s = worker.milestones == 0 ? 0 : milestones_s_[worker.milestones - 1];
    const double left_s = std::max(0.0, milestones_s_[worker.milestones] - reached_s);
    const auto reach = [this, rank] { reach_milestone(rank); };
    if (cores_ && machine_->computes_on_cores) {
      cores_->start(rank, left_s, Cores::Priority::compute, reach);
    } else {
      set_timer(std::max(reached_s, milestones_s_[worker.milestones]), reach);
    }
  }

  void reach_milestone(std::size_t rank) {
    Worker& worker = workers_[rank];
    ++worker.milestones;
    if (worker.milestones < milestones_s_.size()) {
      compute(rank);
      if (worker.waits_for_gradients) resume(rank);
    } else {
      worker.computed_at_s = now_s_;
      finish_if_done(rank);
    }
  }

  bool has_gradients(const Worker& worker) const {
    const double ready_s = times_.load_s + layout_[worker.bucket].ready_s;
    return worker.milestones > 0 && milestones_s_[worker.milestones - 1] >= ready_s;
  }

  // Updates the weights, once compute and exchange are over.
  void finish_if_done(std::size_t rank) {
    const Worker& worker = workers_[rank];
    if (!worker.computed_at_s || !worker.exchanged_at_s) return;
    spend(rank, times_.finish_s, Cores::Priority::compute, [this, rank] {
      workers_[rank].ended_at_s = now_s_;
      end_if_done(rank);
    });
  }

  void end_if_done(std::size_t rank) {
    Worker& worker = workers_[rank];
    if (worker.is_prepared && worker.ended_at_s) worker.ended_at_s = now_s_;
  }

  // Advances the worker's communication thread until it has to wait.
  void resume(std::size_t rank) {
    Worker& worker = workers_[rank];
    while (worker.bucket < layout_.size()) {
      const auto& calls = worker.exchange->buckets[worker.bucket];
      if (!worker.begun) {
        worker.waits_for_gradients = !has_gradients(worker);
        if (worker.waits_for_gradients) return;
        worker.begun = true;
        begin_call(rank);
        if (worker.coding.before_s > 0) return code(rank, worker.coding.before_s);
      }
      const double after_s = worker.coding.after_s;
      if (worker.call < calls.size()) {
        if (!worker.call_began_s) enter_call(rank);
        if (!follow_schedule(rank) || !worker.is_coded) return;
        worker.exchange_s += std::max(0.0, now_s_ - *worker.call_began_s - worker.coding.within_s());
        worker.call_began_s.reset();
        ++worker.call;
        if (worker.call < calls.size()) {
          begin_call(rank);
          if (worker.coding.before_s > 0) return code(rank, worker.coding.before_s);
          continue;
        }
      }
      ++worker.bucket;
      worker.call = 0;
      worker.begun = false;
      if (after_s > 0) return code(rank, after_s);
    }
    if (worker.exchanged_at_s) return;
    worker.exchanged_at_s = now_s_;
    finish_if_done(rank);
  }

  // Encodes or decodes, and resumes.
  void code(std::size_t rank, double time_s) {
    spend(rank, time_s, Cores::Priority::communication, [this, rank] { resume(rank); });
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

  // Encodes and decodes the call's pieces meanwhile, which may take longer than sending them.
  void enter_call(std::size_t rank) {
    Worker& worker = workers_[rank];
    worker.call_began_s = now_s_;
    for (const std::size_t from : std::exchange(worker.requests, {})) answer(rank, from);
    worker.is_coded = worker.coding.within_s() == 0;
    if (worker.is_coded) return;
    spend(rank, worker.coding.within_s(), Cores::Priority::communication, [this, rank] {
      workers_[rank].is_coded = true;
      resume(rank);
    });
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
          send(message_of(rank, message), message.when_ready);
          break;
        case ScheduledMessage::Kind::ready:
          notify(rank, static_cast<std::size_t>(message.peer), Message::Content::ready);
          break;
        case ScheduledMessage::Kind::departed:
          if (!readiness_[pair(rank, static_cast<std::size_t>(message.peer))].waiting.empty()) return false;
          break;
        case ScheduledMessage::Kind::arrived:
          if (std::cmp_less(worker.arrived[message.peer].size(), message.arrivals)) return false;
          break;
        case ScheduledMessage::Kind::receive_any:
          if (worker.point_to_point_messages == 0) return false;
          --worker.point_to_point_messages;
          break;
        case ScheduledMessage::Kind::receive:
          std::deque<Message>& arrived = worker.arrived[message.peer];
          if (arrived.empty()) return false;
          for (const int peer : lane.forwards_to) {
            Message forwarded = arrived.front();
            forwarded.from = rank;
            forwarded.to = static_cast<std::size_t>(peer);
            depart(forwarded);
          }
          arrived.pop_front();
          break;
      }
    }
    return true;
  }

  static Message message_of(std::size_t from, const ScheduledMessage& message) {
    return {.from = from,
            .to = static_cast<std::size_t>(message.peer),
            .bytes = message.bytes,
            .is_point_to_point = message.is_point_to_point,
            .pieces = message.pieces};
  }

  std::size_t pair(std::size_t from, std::size_t to) const { return from * workers_.size() + to; }

  void send(const Message& message, bool when_ready = false) {
    if (when_ready) {
      Readiness& readiness = readiness_[pair(message.from, message.to)];
      if (readiness.times == 0) {
        readiness.waiting.push_back(message);
        if (message.is_point_to_point) notify(message.from, message.to, Message::Content::request);
        return;
      }
      --readiness.times;
    }
    depart(message);
  }

  // Takes the way of all messages, but no work: that is part of the work for the messages that it announces.
  void notify(std::size_t from, std::size_t to, Message::Content content) {
    depart({.from = from, .to = to, .content = content});
  }

  // Messages of a pair are sent one after the other, as over one connection.
  void depart(const Message& message) {
    std::deque<Message>& queue = departures_[pair(message.from, message.to)].queue;
    queue.push_back(message);
    if (queue.size() == 1) set_out(message);
  }

  // The transfer and the CPU's work for it overlap.
  void set_out(const Message& message) {
    const std::size_t id = pair(message.from, message.to);
    Departure& departure = departures_.at(id);
    departure.left = 1;
    departure.latency_s = network_.start(message.from, message.to, message.bytes, id);
    if (!cores_ || message.content != Message::Content::data) return;
    const double core_s = machine_->model.costs.core_s(1.0 / message.pieces, message.bytes,
                                                       network_.is_capped(message.from, message.to));
    if (core_s == 0) return;
    for (const std::size_t end : {message.from, message.to}) {
      ++departure.left;
      cores_->start(end, core_s / 2, Cores::Priority::network, [this, id] { leave(id); });
    }
  }

  // Ends the transfer of a pair's first message, or the work for it at one end.
  void leave(std::size_t id) {
    Departure& departure = departures_.at(id);
    if (--departure.left > 0) return;
    const Message message = departure.queue.front();
    departure.queue.pop_front();
    set_timer(now_s_ + departure.latency_s, [this, message] { arrive(message); });
    if (!departure.queue.empty()) set_out(departure.queue.front());
  }

  void arrive(const Message& message) {
    Worker& worker = workers_[message.to];
    switch (message.content) {
      case Message::Content::ready: {
        Readiness& readiness = readiness_[pair(message.to, message.from)];
        if (readiness.waiting.empty()) {
          ++readiness.times;
        } else {
          depart(readiness.waiting.front());
          readiness.waiting.pop_front();
        }
        break;
      }
      case Message::Content::request:
        answer(message.to, message.from);
        return;
      case Message::Content::data:
        if (message.is_point_to_point) {
          ++worker.point_to_point_messages;
        } else {
          worker.arrived[static_cast<int>(message.from)].push_back(message);
        }
    }
    if (worker.call_began_s) resume(message.to);
  }

  // Lets a point-to-point message come, now or when this worker takes any.
  void answer(std::size_t rank, std::size_t from) {
    Worker& worker = workers_[rank];
    const bool takes_any = worker.call_began_s && std::holds_alternative<PointToPointCall>(
                                                      worker.exchange->buckets[worker.bucket][worker.call]);
    if (takes_any) {
      notify(rank, from, Message::Content::ready);
    } else {
      worker.requests.push_back(from);
    }
  }

  SimulatedIteration result() const {
    double ended_at_s = 0;
    for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
      const Worker& worker = workers_[rank];
      if (!worker.ended_at_s) {
        throw Error(
            fmt::format("the trace's calls deadlock: worker {} waits at bucket {}", rank, worker.bucket));
      }
      ended_at_s = std::max(ended_at_s, *worker.ended_at_s);
    }
    const Worker& first = workers_.front();
    // Rank 0 would begin its next step now, and wait in that step's exchange for the last worker.
    const double waits_s = ended_at_s - *first.ended_at_s;
    return {.iteration_time_s = ended_at_s,
            .computed_at_s = *first.computed_at_s,
            .exposed_exchange_s = std::max(0.0, *first.exchanged_at_s - *first.computed_at_s) + waits_s,
            .exchange_s = first.exchange_s + waits_s,
            .exchanged_share = exchanged_share()};
  }

  // Returns the part of the gradient that the step exchanges: 0 for a local step, less than 1 for a fragment.
  double exchanged_share() const {
    return std::accumulate(layout_.begin(), layout_.end(), 0.0,
                           [](double sum, const TimedBucket& bucket) { return sum + bucket.share; });
  }

  FluidNetwork network_;
  ComputeTimes times_;
  double steps_ = 1;  // that the iteration stands for
  const CollectiveRouting& routing_;
  const SimulatedMachine* machine_;
  std::optional<SharedCores> cores_;
  std::vector<Worker> workers_;
  std::vector<TimedBucket> layout_;
  std::vector<double> milestones_s_;  // when buckets are ready, and the end of compute, since the start
  std::map<std::size_t, Departure> departures_;  // by pair
  std::map<std::size_t, Readiness> readiness_;   // by pair
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::size_t timers_set_ = 0;
  double now_s_ = 0;
};

}  // namespace

SimulatedIteration Simulator::iterate(const JointStep& step, double start_s) const {
  ComputeTimes times = times_;
  times.load_s += start_s;
  return Iteration(topology_, trace_, times, routing_, machine_ ? &*machine_ : nullptr, step).run();
}

}  // namespace thinpipe
