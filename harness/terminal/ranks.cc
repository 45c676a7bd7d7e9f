// SPDX-License-Identifier: Apache-2.0
#include "harness/terminal/ranks.hh"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <exception>
#include <list>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/support/exception.hh"
#include "common/support/standard_streams.hh"
#include "harness/terminal/host_command.hh"
#include "harness/terminal/line_relay.hh"

namespace thinpipe {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr int lowest_priority = 19;

struct Rank {
  std::size_t number = 0;
  std::string host;
  ChildProcess process;
  std::array<LineRelay, 2> outputs;
  std::optional<ExitStatus> end = {};

  // Signals the command and the processes that it has started.
  void signal_group(int signal_number) const {
    if (!end) ::kill(-process.pid(), signal_number);
  }
};

// Makes the calling process the leader of a process group that the terminal does not reach. It stays in its
// session: the kernel may divide CPU time between sessions before it looks at their processes' priorities.
void leave_terminal() {
  system_call("make a process group", ::setpgid(0, 0));
  const FileDescriptor terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC));
  if (terminal) ::ioctl(terminal.get(), TIOCNOTTY);
}

timespec to_timespec(Clock::duration duration) {
  const auto left = std::max(duration, Clock::duration::zero());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  return {.tv_sec = seconds.count(), .tv_nsec = std::chrono::nanoseconds(left - seconds).count()};
}

class Ranks {
 public:
  Ranks(const netem::Network& network, const RanksOptions& options, const CommandSignals& signals)
      : network_(network), options_(options), signals_(signals), tick_at_(Clock::now()) {}

  RanksOutcome run() {
    outcome_.ends.resize(network_.hosts().size());
    try {
      for (std::size_t rank = 0; rank < network_.hosts().size(); ++rank) start(rank);
    } catch (const std::exception& error) {
      print_stderr("thinpipe: {}\n", error.what());
      outcome_.exit_code = cannot_start;
      return outcome_;
    }
    while (any_runs()) step();
    for (Rank& rank : ranks_) {
      for (LineRelay& output : rank.outputs) output.finish();
    }
    if (given_up_) outcome_.exit_code = *given_up_;
    return outcome_;
  }

 private:
  void start(std::size_t number) {
    const netem::Host& host = network_.hosts()[number];
    std::array<Pipe, 2> outputs = {Pipe::create(), Pipe::create()};
    ChildProcess::Options child{.arguments = options_.arguments,
                                .standard_output = outputs[0].write_end.get(),
                                .standard_error = outputs[1].write_end.get(),
                                .environment = host_variables(network_.host_list(), host.name)};
    std::ranges::move(options_.environment(number), std::back_inserter(child.environment));
    child.before_exec = [&] {
      leave_terminal();
      if (options_.lowest_priority) {
        system_call("lower the command's priority", ::setpriority(PRIO_PROCESS, 0, lowest_priority));
      }
      enter_host(network_.host_list(), host);
    };
    const std::string prefix = host.name + ": ";
    ranks_.push_back({.number = number,
                      .host = host.name,
                      .process = ChildProcess(child),
                      .outputs = {LineRelay(std::move(outputs[0].read_end), prefix, stdout),
                                  LineRelay(std::move(outputs[1].read_end), prefix, stderr)}});
  }

  bool any_runs() const {
    return std::ranges::any_of(ranks_, [](const Rank& rank) { return !rank.end; });
  }

  // Waits for the next event and handles it.
  void step() {
    wait();
    while (const auto arrived = signals_.take()) {
      if (arrived->number != SIGCHLD) pass_on(arrived->number);
    }
    for (Rank& rank : ranks_) {
      for (LineRelay& output : rank.outputs) {
        if (output.source()) output.relay();
      }
    }
    notice_ends();
    const auto now = Clock::now();
    if (kill_at_ && now >= *kill_at_) signal_groups(SIGKILL);
    if (now < tick_at_) return;
    options_.tick(Seconds(now - tick_at_).count());
    tick_at_ = now + options_.tick_period;
  }

  void wait() const {
    std::vector<pollfd> events = {{.fd = signals_.descriptor().get(), .events = POLLIN, .revents = 0}};
    const auto add = [&events](const FileDescriptor& descriptor) {
      if (descriptor) events.push_back({.fd = descriptor.get(), .events = POLLIN, .revents = 0});
    };
    for (const Rank& rank : ranks_) {
      if (!rank.end) add(rank.process.pidfd());
      for (const LineRelay& output : rank.outputs) add(output.source());
    }
    const auto next = kill_at_ ? std::min(tick_at_, *kill_at_) : tick_at_;
    const timespec longest = to_timespec(next - Clock::now());
    if (::ppoll(events.data(), events.size(), &longest, nullptr) < 0 && errno != EINTR) {
      throw SystemError("wait for the ranks", errno);
    }
  }

  void pass_on(int signal_number) {
    if (!asks_to_end(signal_number)) {
      for (const Rank& rank : ranks_) rank.process.signal(signal_number);
    } else if (given_up_) {
      signal_groups(SIGKILL);
    } else {
      given_up_ = 128 + signal_number;
      print_stderr("thinpipe: {}; ranks that still run after {:g} s, or after another signal, are killed\n",
                   ExitStatus{.signal = signal_number}.describe(), options_.grace.count());
      end_ranks(signal_number);
    }
  }

  void notice_ends() {
    const Rank* failed = nullptr;
    for (Rank& rank : ranks_) {
      if (rank.end) continue;
      rank.end = rank.process.try_wait();
      outcome_.ends[rank.number] = rank.end;
      if (!rank.end || rank.end->ok()) continue;
      // Of several, a rank that a signal ended is more likely to be the cause: Python reports a lost peer by
      // an exit code.
      if (failed == nullptr || (failed->end->signal == 0 && rank.end->signal != 0)) failed = &rank;
    }
    if (failed == nullptr || outcome_.first_failed || given_up_) return;
    outcome_.first_failed = failed->number;
    outcome_.exit_code = exit_code(*failed->end);
    print_stderr("thinpipe: rank {} in {} has failed: {}\n", failed->number, failed->host,
                 failed->end->describe());
    end_ranks(SIGTERM);
  }

  void end_ranks(int signal_number) {
    signal_groups(signal_number);
    if (!kill_at_) kill_at_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(options_.grace);
  }

  void signal_groups(int signal_number) const {
    for (const Rank& rank : ranks_) rank.signal_group(signal_number);
  }

  const netem::Network& network_;
  const RanksOptions& options_;
  const CommandSignals& signals_;
  std::list<Rank> ranks_;
  Clock::time_point tick_at_;
  std::optional<Clock::time_point> kill_at_;
  std::optional<int> given_up_;  // exit code after a signal
  RanksOutcome outcome_;
};

}  // namespace

RanksOutcome run_ranks(const netem::Network& network, const RanksOptions& options,
                       const CommandSignals& signals) {
  if (const auto code = signals.early_exit_code()) {
    return {.exit_code = *code, .ends = std::vector<std::optional<ExitStatus>>(network.hosts().size())};
  }
  return Ranks(network, options, signals).run();
}

}  // namespace thinpipe
