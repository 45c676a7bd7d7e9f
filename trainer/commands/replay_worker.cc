// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/replay_worker.hh"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "common/protocol/schedule.hh"
#include "common/support/log.hh"
#include "trainer/base/begin_file.hh"
#include "trainer/base/process.hh"
#include "trainer/commands/worker.hh"
#include "trainer/replay/replayer.hh"
#include "trainer/replay/sample_count.hh"
#include "trainer/training/heartbeat.hh"
#include "trainer/training/times_report.hh"
#include "trainer/training/training_setup.hh"

namespace thinpipe::trainer {
namespace {

// Replays the schedule together with the other workers.
class Replay {
 public:
  Replay(const CommunicationTrace& trace, const ComputeTimes& times, ComputeEmulation compute_emulation,
         double variation, MeteredCollective& collective, const EventSink& events, TimesReport* times_report,
         WorkerStatus& worker_status, std::optional<std::string> begin_file)
      : schedule_(schedule_of(trace)),
        collective_(collective),
        replayer_(trace, times, compute_emulation, collective, variation),
        events_(events),
        times_report_(times_report),
        worker_status_(worker_status),
        begin_file_(std::move(begin_file)) {}

  void run() {
    event::Replayed replayed;
    events_(event::Replaying{});
    await_begin(begin_file_);
    worker_status_.enter(WorkerStatus::Phase::exchanging);
    replayer_.warm_up(own_part(schedule_.classes.front().samples.front()));
    for (const StepClass& each : schedule_.classes) {
      const SampleMean times = measure(each, &each == &schedule_.classes.front());
      replayed.classes.push_back({.steps = each.steps,
                                  .iterations = times.count() * each.steps_per_sample,
                                  .mean_s = times.mean(),
                                  .half_width_s = times.half_width()});
    }
    events_(replayed);
  }

 private:
  // Returns the times of a step. Iterations follow each other without a pause, as in training: if a worker is late, the
  // next iteration takes longer. Rank 0 decides only now and then whether the mean is known well enough. If a first step
  // has successors, it gets the minimum of samples, so that it does not dominate the replay.
  SampleMean measure(const StepClass& steps, bool starts) {
    SampleMean times;
    const bool is_one_of_many = starts && schedule_.classes.size() > 1;
    for (std::int64_t until = min_samples_of_class; times.count() < until;
         until = is_one_of_many ? 0 : agreed_end(times, steps)) {
      while (times.count() < until) {
        const auto next = static_cast<std::size_t>(times.count()) % steps.samples.size();
        double time_s = 0;
        for (const ReplayedIteration& iteration : replay(steps.samples[next], starts)) {
          time_s += iteration.iteration_time_s;
          report(iteration, is_one_of_many);
        }
        times.add(time_s / static_cast<double>(steps.steps_per_sample));
      }
    }
    return times;
  }

  std::vector<ReplayedIteration> replay(const JointStep& step, bool starts) {
    worker_status_.enter(WorkerStatus::Phase::exchanging);
    return replayer_.replay(own_part(step), starts);
  }

  const std::optional<std::size_t>& own_part(const JointStep& step) const {
    return step[static_cast<std::size_t>(collective_.rank())];
  }

  void report(const ReplayedIteration& iteration, bool represents_first_step) {
    ++iterations_;
    worker_status_.count(iterations_);
    train_time_s_ += iteration.iteration_time_s;
    const double compute_s = iteration.iteration_time_s - iteration.load_s - iteration.exposed_exchange_s;
    events_(event::ReplayedIteration{.iteration = iterations_,
                                     .represents_first_step = represents_first_step,
                                     .times = {.train_time_s = train_time_s_,
                                               .iteration_time_s = iteration.iteration_time_s,
                                               .load_s = iteration.load_s,
                                               .compute_s = compute_s,
                                               .encode_s = iteration.section.encode_s,
                                               .exchange_s = iteration.section.exchange_s,
                                               .decode_s = iteration.section.decode_s,
                                               .exposed_exchange_s = iteration.exposed_exchange_s,
                                               .first_bucket_s = iteration.first_bucket_s,
                                               .cpu_s = iteration.cpu_s},
                                     .payload_bytes = iteration.section.payload_bytes,
                                     .sent_bytes = iteration.section.sent_bytes});
    if (times_report_ != nullptr) {
      times_report_->add({.iteration = iterations_,
                          .monotonic_s = iteration.ended_s,
                          .iteration_time_s = iteration.iteration_time_s,
                          .compute_s = compute_s,
                          .exposed_exchange_s = iteration.exposed_exchange_s});
    }
  }

  // Returns next_sample_count() by rank 0's clock, for all workers.
  std::int64_t agreed_end(const SampleMean& times, const StepClass& steps) {
    const torch::Tensor end = torch::tensor(
        {next_sample_count(times, std::ssize(steps.samples), steps.steps_per_sample)}, torch::kLong);
    collective_.unmetered().broadcast(end, 0);
    return end.item<std::int64_t>();
  }

  Schedule schedule_;
  MeteredCollective& collective_;
  Replayer replayer_;
  const EventSink& events_;
  TimesReport* times_report_;  // nullptr: none
  WorkerStatus& worker_status_;
  std::optional<std::string> begin_file_;
  std::int64_t iterations_ = 0;
  double train_time_s_ = 0;
};

CommunicationTrace load_fitting_trace(const ReplayFile& file) {
  CommunicationTrace trace = load_trace(file.communication_trace);
  if (trace.world_size != file.group_options.world_size) {
    throw InputError({file.communication_trace, "/world_size"},
                     fmt::format("the trace has {} workers, but the replay has {}", trace.world_size,
                                 file.group_options.world_size));
  }
  return trace;
}

}  // namespace

bool replay(const ReplayFile& file, const EventSink& events) {
  const int rank = file.group_options.rank;
  spdlog::set_default_logger(make_log_to_standard_error(file.log_level));
  WorkerStatus worker_status;
  const Heartbeat heartbeat(worker_status, events);
  events(event::Started{.pid = ::getpid(), .libraries = library_versions()});
  try {
    compute_on_one_thread();
    const CommunicationTrace trace = load_fitting_trace(file);
    const ComputeProfile profile = load_profile(file.compute_profile);
    check_profile_fits(profile, file.compute_profile, trace);
    MeteredCollective collective(CollectiveRegistry::instance().make(
        file.collective, kConfigurationPlace / "collective", file.group_options));
    const EventSink rank_0_only = rank == 0 ? events : [](const Event&) {};
    const bool busy = file.compute_emulation == ComputeEmulation::busy;
    if (busy && !profile.cpu) {
      throw InputError({file.compute_profile, "/cpu"},
                       "is missing: the profile does not contain the CPU time of compute");
    }
    TimesReport times(events);
    Replay replay(trace, busy ? *profile.cpu : profile.elapsed, file.compute_emulation,
                  busy ? profile.variation : 0, collective, rank_0_only,
                  file.report_worker_times ? &times : nullptr, worker_status, file.begin_file);
    if (busy) lower_this_threads_priority();  // as training workers do
    try {
      replay.run();
      collective.unmetered().barrier();
      times.flush();
    } catch (const std::exception& error) {
      times.flush();
      // Reports immediately, because the destructors may wait for an exchange that is stuck.
      report_failure(events, error);
      return false;
    }
    events(event::Finished{.peak_memory_bytes = peak_memory_bytes()});
    return true;
  } catch (const std::exception& error) {
    report_failure(events, error);
    return false;
  }
}

}  // namespace thinpipe::trainer
