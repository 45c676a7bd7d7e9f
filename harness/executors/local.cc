// SPDX-License-Identifier: Apache-2.0
#include "harness/executors/local.hh"

#include <algorithm>
#include <list>
#include <memory>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"
#include "harness/executors/report_pipe.hh"
#include "harness/executors/worker.hh"

namespace thinpipe {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

// After the first failure, the job waits this long for other workers' failures. A crash makes its neighbours
// report a broken collective, sometimes before the crash itself is noticed.
constexpr std::chrono::milliseconds grace{1000};
constexpr std::chrono::seconds heartbeat_check_period{1};
// Upper bound on the time that workers get to write a checkpoint when the job is stopped. After SIGTERM, Slurm waits 30 s
// by default before it kills a job.
constexpr std::chrono::seconds stop_grace{25};
constexpr std::size_t log_tail_lines = 20;
constexpr std::size_t excerpt_bytes = 200;
constexpr off_t log_tail_bytes = 16384;

// A worker and its state as far as it is known.
struct Watched {
  Watched(asio::io_context& loop, const std::string& trainer, const WorkerCommand& command)
      : process(loop, trainer, command) {}

  Worker process;
  std::unique_ptr<ReportPipe> reports = {};       // of a script
  bool finished = false;                          // has reported that it finished
  std::optional<std::int64_t> saved_after = {};   // has reported that it stopped with a checkpoint
  std::optional<Failure> failure = {};            // reported by it, or detected
  std::optional<Clock::time_point> beat_at = {};  // time of its last heartbeat; nullopt before the first
  std::string doing = {};                         // phase and iteration of that heartbeat

  bool is_script() const { return reports != nullptr; }
  // A script need not report that it has finished.
  bool ended_well() const {
    return (finished || saved_after || is_script()) && process.exit_status() && process.exit_status()->ok();
  }
};

// Returns the beginning of a text that may be long and binary, escaped for a terminal.
std::string excerpt(std::string_view text) {
  std::string out;
  for (const char byte : text.substr(0, excerpt_bytes)) {
    const auto code = static_cast<unsigned char>(byte);
    out += code < 0x20 || code >= 0x7f ? fmt::format("\\x{:02x}", code) : std::string(1, byte);
  }
  return text.size() > excerpt_bytes ? out + "…" : out;
}

// Throws InvalidEvent.
Event parse_line(const std::string& line) {
  try {
    return parse_event(Json::parse(line, shallow));
  } catch (const Json::exception& error) {
    throw InvalidEvent(
        fmt::format("reported a line that is not an event: {} ({})", excerpt(line), excerpt(error.what())));
  }
}

// Returns 0 for a failure that is likely to be the cause, and 1 for a broken collective, which is mostly the
// consequence of another rank's failure.
int remoteness(const Failure& failure) {
  return failure.kind == "collective" ? 1 : 0;
}

int signal_of(WorkerAction action) {
  switch (action) {
    case WorkerAction::kill:
      return SIGKILL;
    case WorkerAction::pause:
      return SIGSTOP;
    case WorkerAction::resume:
      return SIGCONT;
  }
  return SIGKILL;
}

std::string state(const Watched& worker) {
  std::string out = worker.process.exit_status() ? worker.process.exit_status()->describe() : "still running";
  if (!worker.process.exit_status() && !worker.doing.empty()) out += ", last " + worker.doing;
  if (worker.failure) out += ": " + worker.failure->message;
  return out;
}

// The state of one execute() call. Its destructor cancels everything that is pending in the event loop.
class LocalJob : public WorkerControl {
 public:
  LocalJob(const std::string& trainer, StopSignals& stop, const Job& job, const JobObserver& observer)
      : job_(job),
        observer_(observer),
        stop_(stop),
        stop_asked_(loop_,
                    system_call("copy a signalfd", ::fcntl(stop.descriptor().get(), F_DUPFD_CLOEXEC, 0))) {
    for (const WorkerCommand& command : job.workers) {
      try {
        // Created first, so that the script finds it.
        std::unique_ptr<ReportPipe> reports;
        if (command.script) reports = std::make_unique<ReportPipe>(loop_, command.script->reports);
        workers_.emplace_back(loop_, trainer, command).reports = std::move(reports);
      } catch (const std::exception& error) {
        outcome_ = {Outcome::Status::failed,
                    Failure{.kind = "start", .rank = command.rank, .message = error.what()}};
        return;
      }
    }
  }

  Outcome run() {
    if (outcome_) return *outcome_;
    for (Watched& worker : workers_) watch(worker);
    if (stop_.requested()) return {Outcome::Status::interrupted};
    watch_for_stop();
    watch_for_stall();
    watch_heartbeats();
    tick({});
    loop_.run();
    return *outcome_;
  }

  void apply(WorkerAction action, std::int64_t rank) override {
    for (const Watched& worker : workers_) {
      if (worker.process.command().rank == rank && !worker.process.exit_status()) {
        worker.process.signal(signal_of(action));
      }
    }
  }

 private:
  void watch(Watched& worker) {
    if (!worker.is_script()) {
      worker.process.watch([this, &worker](const std::string& line) { on_line(worker, line); },
                           [this, &worker] { see_end(worker); });
      return;
    }
    const auto pass_to = [this, &worker](const auto& callback) {
      return [this, &worker, &callback](const std::string& line) { pass_on(worker, line, callback); };
    };
    worker.process.watch(pass_to(observer_.output), [this, &worker] { see_end(worker); });
    worker.reports->watch(pass_to(observer_.report));
  }

  // Passes on a line of a script, each of which is a sign of progress.
  void pass_on(Watched& worker, const std::string& line,
               const std::function<void(std::int64_t, const std::string&)>& callback) {
    if (worker.failure) return;
    received_at_ = Clock::now();
    try {
      callback(worker.process.command().rank, line);
    } catch (const InvalidEvent& error) {
      fail(worker, {.kind = "protocol", .message = error.what()});
    }
  }

  void on_line(Watched& worker, const std::string& line) {
    // A worker may send a flood of invalid lines; the first one is enough.
    if (worker.failure && worker.failure->kind == "protocol") return;
    try {
      const Event event = parse_line(line);
      std::visit([this, &worker](const auto& each) { take(worker, each); }, event);
      if (std::holds_alternative<event::Heartbeat>(event)) return;  // not a sign of progress
      received_at_ = Clock::now();
      observer_.event(worker.process.command().rank, event);
    } catch (const InvalidEvent& error) {
      fail(worker, {.kind = "protocol", .message = error.what()});
    }
  }

  static void take(Watched& worker, const event::Heartbeat& heartbeat) {
    worker.beat_at = Clock::now();
    worker.doing = fmt::format("{} after iteration {}", heartbeat.phase, heartbeat.iteration);
  }
  void take(Watched& worker, const event::Failed& failed) {
    fail(worker, {.kind = failed.kind, .message = failed.message});
  }
  static void take(Watched& worker, const event::Finished& /*finished*/) { worker.finished = true; }
  static void take(Watched& worker, const event::Interrupted& interrupted) {
    worker.saved_after = interrupted.iteration;
  }
  static void take(Watched& worker, const event::Pretrained& /*pretrained*/) { worker.finished = true; }
  static void take(Watched& /*worker*/, const auto& /*other*/) {}

  void see_end(Watched& worker) {
    const ExitStatus status = *worker.process.exit_status();
    if (worker.is_script()) worker.reports->drain();
    if (!worker.failure && !worker.ended_well()) {
      const char* const when = worker.is_script() ? ""
                               : worker.finished  ? " after it had finished"
                                                  : " before it had finished";
      fail(worker, {.kind = "crash", .message = fmt::format("ended with {}{}", status.describe(), when)});
    }
    if (std::ranges::all_of(workers_, [](const Watched& w) { return w.process.exit_status().has_value(); }))
      end();
  }

  void fail(Watched& worker, Failure failure) {
    if (worker.failure) return;
    failure.rank = worker.process.command().rank;
    if (stopping_) return finish({Outcome::Status::interrupted, std::move(failure)});
    worker.failure = std::move(failure);
    if (first_failed_ == nullptr) {
      grace_.expires_after(grace);
      grace_.async_wait([this](const auto& error) {
        if (!error) end();
      });
    }
    if (first_failed_ == nullptr || remoteness(*worker.failure) < remoteness(*first_failed_->failure)) {
      first_failed_ = &worker;
    }
  }

  // Ends the job: every worker has ended, or the grace period is over.
  void end() {
    if (first_failed_ == nullptr) {
      finish(outcome_without_failure());
      return;
    }
    Failure failure = *first_failed_->failure;
    if (const auto& status = first_failed_->process.exit_status()) failure.exit_status = status->describe();
    give_up(std::move(failure), first_failed_->process.command().log);
  }

  // Workers that were asked to stop may have finished before.
  Outcome outcome_without_failure() const {
    const auto& saved_after = workers_.front().saved_after;
    if (std::ranges::none_of(workers_, [](const Watched& worker) { return worker.saved_after.has_value(); }))
      return {};
    const bool all_alike = std::ranges::all_of(
        workers_, [&](const Watched& worker) { return worker.saved_after == saved_after; });
    return {.status = Outcome::Status::interrupted, .saved_after = all_alike ? saved_after : std::nullopt};
  }

  void give_up(Failure failure, const std::filesystem::path& log) {
    for (const Watched& worker : workers_) failure.worker_states.push_back(state(worker));
    failure.log_tail = last_lines(log, log_tail_lines);
    finish({Outcome::Status::failed, std::move(failure)});
  }

  // The first outcome stays: a worker's failure during a stop is also the end of a job whose workers have all ended.
  void finish(Outcome outcome) {
    if (!outcome_) outcome_ = std::move(outcome);
    loop_.stop();
  }

  void watch_for_stop() {
    stop_asked_.async_wait(asio::posix::stream_descriptor::wait_read, [this](const auto& error) {
      if (error) return;
      if (stop_.requested()) stop();
      watch_for_stop();
    });
  }

  // At the first request, workers may be given time; the second one ends them.
  void stop() {
    if (!job_.saves_on_stop || stopping_) return finish({Outcome::Status::interrupted});
    stopping_ = true;
    if (observer_.stopping) observer_.stopping();
    for (const Watched& worker : workers_) worker.process.signal(SIGTERM);
    stop_grace_.expires_after(stop_grace);
    stop_grace_.async_wait([this](const auto& error) {
      if (error) return;
      finish({Outcome::Status::interrupted,
              Failure{.kind = "hang",
                      .message = fmt::format("the workers did not end within {:g} s of the request to stop",
                                             Seconds(stop_grace).count())}});
    });
  }

  void watch_for_stall() {
    const auto deadline = received_at_ + std::chrono::duration_cast<Clock::duration>(job_.limits.stall);
    if (Clock::now() >= deadline) {
      const double stall_s = job_.limits.stall.count();
      give_up({.kind = "stall",
               .message = workers_.front().is_script()
                              ? fmt::format("no worker printed or reported anything for {:g} s", stall_s)
                              : fmt::format("no worker reported any progress for {:g} s", stall_s)},
              workers_.front().process.command().log);
      return;
    }
    stall_.expires_at(deadline);
    stall_.async_wait([this](const auto& error) {
      if (!error) watch_for_stall();
    });
  }

  // Detects a worker that hangs, because it is stopped or starved, by its missing heartbeats. Its peers would
  // wait for it in an exchange.
  void watch_heartbeats() {
    const Clock::time_point now = Clock::now();
    // True if this process itself was stopped, so that the heartbeats of that time have not been read yet.
    const bool late = now > heartbeats_.expiry() + heartbeat_check_period;
    for (Watched& worker : workers_) {
      // One that has done its work sends none, and may take long to end on a busy machine. Nobody waits for it.
      const bool is_done = worker.finished || worker.saved_after.has_value();
      if (!worker.beat_at || is_done || worker.process.exit_status()) continue;
      if (late) worker.beat_at = now;
      const Seconds silence = now - *worker.beat_at;
      if (silence < job_.limits.silence) continue;
      fail(worker, {.kind = "hang",
                    .message = fmt::format("has sent no heartbeat for {:.0f} s, last {}{}", silence.count(),
                                           worker.doing,
                                           worker.process.is_stopped() ? "; its process is stopped" : "")});
    }
    heartbeats_.expires_after(heartbeat_check_period);
    heartbeats_.async_wait([this](const auto& error) {
      if (!error) watch_heartbeats();
    });
  }

  void tick(Seconds late) {
    observer_.tick(*this, late);
    tick_.expires_after(job_.tick_period);
    tick_.async_wait([this](const auto& error) {
      if (!error) tick(Clock::now() - tick_.expiry());
    });
  }

  const Job& job_;
  const JobObserver& observer_;
  StopSignals& stop_;
  asio::io_context loop_;
  asio::posix::stream_descriptor stop_asked_;
  asio::steady_timer grace_{loop_};
  asio::steady_timer stop_grace_{loop_};
  asio::steady_timer stall_{loop_};
  asio::steady_timer heartbeats_{loop_, Clock::now()};
  asio::steady_timer tick_{loop_};
  Clock::time_point received_at_ = Clock::now();
  std::list<Watched> workers_;
  Watched* first_failed_ = nullptr;
  bool stopping_ = false;  // the workers have been asked to write a checkpoint
  std::optional<Outcome> outcome_;
};

}  // namespace

Outcome LocalExecutor::execute(const Job& job, const JobObserver& observer) {
  return LocalJob(trainer_, stop_, job, observer).run();
}

std::vector<std::string> last_lines(const std::filesystem::path& file, std::size_t lines) {
  std::string text;
  try {
    const FileDescriptor fd = FileDescriptor::open(file, O_RDONLY);
    const off_t size = system_call("find the end of " + file.string(), ::lseek(fd.get(), 0, SEEK_END));
    system_call("seek in " + file.string(),
                ::lseek(fd.get(), std::max<off_t>(0, size - log_tail_bytes), SEEK_SET));
    text = read_to_end(fd, "read " + file.string());
  } catch (const SystemError&) {
    return {};
  }
  std::vector<std::string> out;
  while (!text.empty() && out.size() < lines) {
    if (text.back() == '\n') text.pop_back();
    const std::size_t begin = text.rfind('\n') + 1;  // npos + 1 is 0
    out.push_back(text.substr(begin));
    text.resize(begin);
  }
  std::ranges::reverse(out);
  return out;
}

}  // namespace thinpipe
