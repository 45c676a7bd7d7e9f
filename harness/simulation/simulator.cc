// SPDX-License-Identifier: Apache-2.0
#include "harness/simulation/simulator.hh"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "common/protocol/timed_layout.hh"
#include "harness/simulation/mail.hh"

namespace thinpipe {
namespace {

// How often an iteration is simulated in a row. All workers begin the first one together, so it does not count.
constexpr int rounds = 3;

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
  bool waits_for_departure = false;                 // of a message that left when its receiver was ready
  std::size_t calls_begun = 0;
  std::map<std::size_t, int> point_to_point_messages = {};  // not yet received, by the number of the call
  std::deque<Message> requests = {};                        // for later calls, or until there is room
  std::size_t room = 0;  // the number of point-to-point messages that may come

  int round = 0;
  double began_s = 0;  // when the round began

  std::size_t milestones = 0;  // of the training thread, that it has reached
  std::optional<double> computed_at_s = {};
  bool is_prepared = true;  // whether the next batch is
  std::optional<double> ended_at_s = {};
};

double step_s(const ComputeTimes& times) {
  return times.load_s + times.compute_s + times.finish_s;
}

class Iteration {
 public:
  Iteration(const netem::Topology& topology, const CommunicationTrace& trace, const ComputeTimes& times,
            const CollectiveRouting& routing, const SimulatedMachine* machine, const JointStep& step)
      : times_(times), routing_(routing), machine_(machine), workers_(step.size()) {
    MailWork work;
    if (machine != nullptr) {
      cores_.emplace(machine->model, step.size());
      work = {.cores = &*cores_, .costs = machine->model.costs};
    }
    mail_.emplace(
        topology, step.size(), timers_, work, [this](const Message& message) { arrive(message); },
        [this](std::size_t from) {
          if (workers_[from].waits_for_departure) resume(from);
        });
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
    // Without an exchange, all are equal.
    ends_s_.resize(layout_.empty() ? 1 : rounds);
  }

  SimulatedIteration run() {
    for (std::size_t rank = 0; rank < workers_.size(); ++rank) begin(rank);
    for (double passes_s = next_s(); passes_s < infinity; passes_s = next_s()) {
      timers_.advance(passes_s);
      std::vector<std::function<void()>> ended;
      if (cores_) cores_->advance(passes_s, ended);
      mail_->advance(passes_s);
      for (const auto& action : ended) action();
      timers_.run();
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

  double next_s() {
    double next_s = std::min(timers_.next_s(), mail_->next_completion_s());
    if (cores_) next_s = std::min(next_s, cores_->next_completion_s());
    return std::max(0.0, next_s);
  }

  // Spends a worker's time on the machine's cores, or on its own if there is no machine.
  void spend(std::size_t rank, double time_s, Cores::Priority priority, std::function<void()> at_end) {
    if (cores_ && machine_->computes_on_cores) {
      cores_->start(rank, time_s, priority, std::move(at_end));
    } else {
      timers_.set(timers_.now_s() + time_s, std::move(at_end));
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

  // Ends a round, and begins the next one with what has come for it.
  void end_round(std::size_t rank) {
    Worker& worker = workers_[rank];
    double& end_s = ends_s_[static_cast<std::size_t>(worker.round)];
    end_s = std::max(end_s, timers_.now_s());
    if (worker.round + 1 == std::ssize(ends_s_)) return;
    worker = {.exchange = worker.exchange,
              .arrived = std::move(worker.arrived),
              .calls_begun = worker.calls_begun,
              .point_to_point_messages = std::move(worker.point_to_point_messages),
              .requests = std::move(worker.requests),
              .round = worker.round + 1,
              .began_s = timers_.now_s()};
    begin(rank);
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
      timers_.set(timers_.now_s() + balancing_s(), [this, rank] { compute(rank); });
    } else {
      compute(rank);
    }
    if (layout_.empty()) workers_[rank].exchanged_at_s = timers_.now_s();
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
      timers_.set(worker.began_s + std::max(reached_s, milestones_s_[worker.milestones]), reach);
    }
  }

  void reach_milestone(std::size_t rank) {
    Worker& worker = workers_[rank];
    ++worker.milestones;
    if (worker.milestones < milestones_s_.size()) {
      compute(rank);
      if (worker.waits_for_gradients) resume(rank);
    } else {
      worker.computed_at_s = timers_.now_s();
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
      workers_[rank].ended_at_s = timers_.now_s();
      end_if_done(rank);
    });
  }

  void end_if_done(std::size_t rank) {
    Worker& worker = workers_[rank];
    if (!worker.is_prepared || !worker.ended_at_s) return;
    worker.ended_at_s = timers_.now_s();
    end_round(rank);
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
        worker.exchange_s += std::max(0.0, timers_.now_s() - *worker.call_began_s - worker.coding.within_s());
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
    worker.exchanged_at_s = timers_.now_s();
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
    worker.call_began_s = timers_.now_s();
    ++worker.calls_begun;
    worker.room = workers_.size() - 1;
    answer_requests(rank);
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
          if (message.when_ready) {
            mail_->send_when_ready(message_from(rank, message));
          } else {
            mail_->send(message_from(rank, message));
          }
          break;
        case ScheduledMessage::Kind::ready:
          mail_->notify(rank, static_cast<std::size_t>(message.peer), Message::Content::ready);
          break;
        case ScheduledMessage::Kind::departed:
          worker.waits_for_departure = !mail_->has_departed(rank, static_cast<std::size_t>(message.peer));
          if (worker.waits_for_departure) return false;
          break;
        case ScheduledMessage::Kind::arrived:
          if (std::cmp_less(worker.arrived[message.peer].size(), message.arrivals)) return false;
          break;
        case ScheduledMessage::Kind::receive_any:
          if (worker.point_to_point_messages[worker.calls_begun] == 0) return false;
          --worker.point_to_point_messages[worker.calls_begun];
          ++worker.room;
          answer_requests(rank);
          break;
        case ScheduledMessage::Kind::receive:
          std::deque<Message>& arrived = worker.arrived[message.peer];
          if (arrived.empty()) return false;
          for (const int peer : lane.forwards_to) {
            Message forwarded = arrived.front();
            forwarded.from = rank;
            forwarded.to = static_cast<std::size_t>(peer);
            mail_->send(forwarded);
          }
          arrived.pop_front();
          break;
      }
    }
    return true;
  }

  Message message_from(std::size_t from, const ScheduledMessage& message) const {
    return {.from = from,
            .to = static_cast<std::size_t>(message.peer),
            .bytes = message.bytes,
            .is_point_to_point = message.is_point_to_point,
            .pieces = message.pieces,
            .call = workers_[from].calls_begun};
  }

  void arrive(const Message& message) {
    Worker& worker = workers_[message.to];
    switch (message.content) {
      case Message::Content::ready:
        break;
      case Message::Content::request:
        worker.requests.push_back(message);
        return answer_requests(message.to);
      case Message::Content::data:
        if (message.is_point_to_point) {
          ++worker.point_to_point_messages[message.call];
        } else {
          worker.arrived[static_cast<int>(message.from)].push_back(message);
        }
    }
    if (worker.call_began_s) resume(message.to);
  }

  // Lets point-to-point messages come for which there is room, as long as they are for this call.
  void answer_requests(std::size_t rank) {
    Worker& worker = workers_[rank];
    const auto is_for_this_call = [&](const Message& request) { return request.call == worker.calls_begun; };
    while (worker.room > 0) {
      const auto next = std::ranges::find_if(worker.requests, is_for_this_call);
      if (next == worker.requests.end()) return;
      mail_->notify(rank, next->from, Message::Content::ready);
      worker.requests.erase(next);
      --worker.room;
    }
  }

  SimulatedIteration result() const {
    for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
      const Worker& worker = workers_[rank];
      if (!worker.ended_at_s || worker.round + 1 < std::ssize(ends_s_)) {
        throw Error(
            fmt::format("the trace's calls deadlock: worker {} waits at bucket {}", rank, worker.bucket));
      }
    }
    const Worker& first = workers_.front();
    const double time_s = ends_s_.size() == 1
                              ? ends_s_.front()
                              : (ends_s_.back() - ends_s_.front()) / static_cast<double>(ends_s_.size() - 1);
    // Rank 0 would begin its next step now, and wait in that step's exchange for the last worker.
    const double waits_s = time_s - (*first.ended_at_s - first.began_s);
    const double exposed_s = std::max(0.0, *first.exchanged_at_s - *first.computed_at_s);
    return {.iteration_time_s = time_s,
            .computed_at_s = *first.computed_at_s - first.began_s,
            .exposed_exchange_s = std::max(0.0, exposed_s + waits_s),
            .exchange_s = std::max(0.0, first.exchange_s + waits_s),
            .exchanged_share = exchanged_share()};
  }

  // Returns the part of the gradient that the step exchanges: 0 for a local step, less than 1 for a fragment.
  double exchanged_share() const {
    return std::accumulate(layout_.begin(), layout_.end(), 0.0,
                           [](double sum, const TimedBucket& bucket) { return sum + bucket.share; });
  }

  Timers timers_;
  ComputeTimes times_;
  double steps_ = 1;  // that the iteration stands for
  const CollectiveRouting& routing_;
  const SimulatedMachine* machine_;
  std::optional<SharedCores> cores_;
  std::optional<Mail> mail_;
  std::vector<Worker> workers_;
  std::vector<double> ends_s_;  // of each round, on the last worker
  std::vector<TimedBucket> layout_;
  std::vector<double> milestones_s_;  // when buckets are ready, and the end of compute, since the start
};

}  // namespace

SimulatedIteration Simulator::iterate(const JointStep& step, double start_s) const {
  ComputeTimes times = times_;
  times.load_s += start_s;
  return Iteration(topology_, trace_, times, routing_, machine_ ? &*machine_ : nullptr, step).run();
}

}  // namespace thinpipe
