// SPDX-License-Identifier: Apache-2.0
// The worker: reports made-up measurements, or fails as the configuration's "fault" specifies.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>

#include <sys/socket.h>
#include <unistd.h>

#include "common/protocol/worker_file.hh"
#include "harness/tests/fake_trainer/commands.hh"
#include "harness/tests/fake_trainer/config.hh"

namespace thinpipe::fake {
namespace {

double monotonic_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void evaluate(std::int64_t iteration, double train_time_s) {
  emit({{"event", "evaluation"},
        {"iteration", iteration},
        {"epoch", 0},
        {"train_time_s", train_time_s},
        {"train_loss", 1.0},
        {"test_loss", 1.0},
        {"test_accuracy", std::min(1.0, 0.1 * static_cast<double>(iteration))}});
}

// Returns an exit code if the fault ends the worker, otherwise -1.
int strike(const Fault& fault, std::int64_t rank) {
  std::cerr << "about to " << fault.kind << std::endl;
  if (fault.kind == "crash") ::raise(SIGSEGV);
  if (fault.kind == "exit") return 3;
  if (fault.kind == "silent_exit") return 0;
  if (fault.kind == "hang") ::pause();
  if (fault.kind == "stop" || fault.kind == "slow_exit")
    emit({{"event", "heartbeat"}, {"iteration", fault.iteration - 1}, {"phase", "computing"}});
  if (fault.kind == "stop") ::raise(SIGSTOP);
  if (fault.kind == "garbage") std::cout << "this is not an event" << std::endl;
  if (fault.kind == "binary") std::cout << std::string("\0\x1b[31m\xff\xfe{\n", 10) << std::flush;
  if (fault.kind == "flood") {  // 100 MB without an end of line
    const std::string piece(1 << 16, 'x');
    for (int i = 0; i < 1600; ++i) std::cout << piece;
    std::cout << std::flush;
  }
  if (fault.kind == "deep") {  // would overflow the stack if it were copied
    const std::string brackets(100000, '[');
    std::cout << R"({"event":"evaluation","test_loss":)" << brackets << std::string(brackets.size(), ']')
              << '}' << std::endl;
  }
  if (fault.kind == "nan") {
    emit(
        {{"event", "failed"}, {"rank", rank}, {"kind", "non_finite"}, {"message", "the loss is not finite"}});
    return 1;
  }
  if (fault.kind == "full_disk") {
    emit({{"event", "failed"},
          {"rank", rank},
          {"kind", "full_disk"},
          {"message", "write a.pt: No space left on device"}});
    return 1;
  }
  return -1;
}

int complain(std::int64_t rank, const std::string& file) {
  emit({{"event", "failed"}, {"rank", rank}, {"kind", "input"}, {"message", "cannot read " + file}});
  return 1;
}

// The only state is the number of iterations, in one file of rank 0.
class Checkpoint {
 public:
  explicit Checkpoint(const std::optional<CheckpointOptions>& options) {
    if (!options) return;
    folder_ = options->directory;
    every_ = options->every_iterations;
    std::filesystem::create_directories(folder_);
  }

  std::int64_t newest() const {
    std::int64_t iteration = 0;
    if (every_ > 0) std::ifstream(folder_ / "iteration") >> iteration;
    return iteration;
  }

  void write_if_due(std::int64_t iteration) const {
    if (every_ == 0 || iteration % every_ != 0) return;
    std::ofstream(folder_ / "new") << iteration;
    std::filesystem::rename(folder_ / "new", folder_ / "iteration");
  }

  // Returns whether this is the first call, across restarts.
  bool first_strike() const {
    const bool first = !std::filesystem::exists(folder_ / "struck");
    std::ofstream(folder_ / "struck") << "yes";
    return first;
  }

 private:
  std::filesystem::path folder_;
  std::int64_t every_ = 0;
};

// Stops with a checkpoint when it is asked to, and takes long to end.
int stop_slowly(const InterruptionOptions& interruption, int rank, std::int64_t iteration) {
  ::sigset_t asked;
  ::sigemptyset(&asked);
  ::sigaddset(&asked, SIGTERM);
  int signal = 0;
  ::sigwait(&asked, &signal);
  std::filesystem::create_directories(interruption.directory);
  std::ofstream(std::filesystem::path(interruption.directory) /
                ("rank-" + std::to_string(rank) + ".iteration-" + std::to_string(iteration) + ".pt"))
      << "weights";
  emit({{"event", "heartbeat"}, {"iteration", iteration}, {"phase", "computing"}});
  emit({{"event", "interrupted"}, {"iteration", iteration}});
  sleep_for(2);
  return 0;
}

}  // namespace

int work(const char* path) {
  const auto file = load_worker_file<WorkFile>(path);
  const int rank = file.group_options.rank;
  const auto config = read_options<Config>(file.config, {"", ""});
  // The signal of an intended segmentation fault must end the process.
  ::signal(SIGSEGV, SIG_DFL);
  if (config.fault.kind == "slow_stop") {  // until it is waited for
    ::sigset_t asked;
    ::sigemptyset(&asked);
    ::sigaddset(&asked, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &asked, nullptr);
  }
  if (!std::filesystem::is_empty(file.group_options.rendezvous_directory)) return 2;
  emit({{"event", "started"}, {"rank", rank}, {"pid", ::getpid()}, {"libraries", {{"libtorch", "none"}}}});
  const Checkpoint checkpoint(file.checkpoint);
  const std::int64_t done = checkpoint.newest();
  double train_time_s = static_cast<double>(done) * config.iteration_time_s;
  if (rank == 0) emit({{"event", "dataset"}, {"hash", dataset_hash(config.dataset)}});
  if (rank == 0 && done == 0) evaluate(0, 0);
  if (rank == 0 && done > 0) {
    emit({{"event", "resumed"}, {"iteration", done}, {"train_time_s", train_time_s}});
  }
  const bool reports_starts = rank == 0 && file.report_iteration_starts;
  for (std::int64_t i = done + 1; i <= config.iterations; ++i) {
    const double started_s = monotonic_s();
    if (reports_starts) {
      emit({{"event", "iteration_started"},
            {"iteration", i},
            {"train_time_s", train_time_s},
            {"monotonic_s", started_s}});
    }
    if (config.fault.kind == "slow_stop" && config.fault.iteration == i)
      return stop_slowly(file.interruption.value(), rank, i - 1);
    sleep_for(config.iteration_time_s);
    // Made up, unless starts are reported: then the real time.
    train_time_s += reports_starts ? monotonic_s() - started_s : config.iteration_time_s;
    if (config.fault.kind != "none" && config.fault.rank == rank && config.fault.iteration == i &&
        (!config.fault.once || checkpoint.first_strike())) {
      if (const int code = strike(config.fault, rank); code >= 0) return code;
      if (config.fault.kind == "complain") return complain(rank, config.dataset.path.value_or("nothing"));
    }
    if (file.report_worker_times) {
      emit({{"event", "worker_times"},
            {"iterations", Json::array({{{"iteration", i},
                                         {"monotonic_s", monotonic_s()},
                                         {"iteration_time_s", config.iteration_time_s},
                                         {"compute_s", config.iteration_time_s / 2},
                                         {"exposed_exchange_s", config.iteration_time_s / 4}}})}});
    }
    if (rank != 0) continue;
    emit({{"event", "iteration"},
          {"iteration", i},
          {"epoch", 0},
          {"train_time_s", train_time_s},
          {"train_loss", 1.0},
          {"iteration_time_s", config.iteration_time_s},
          {"load_s", 0.0},
          {"compute_s", config.iteration_time_s / 2},
          {"encode_s", 0.0},
          {"exchange_s", config.iteration_time_s / 2},
          {"decode_s", 0.0},
          {"exposed_exchange_s", config.iteration_time_s / 4},
          {"cpu_s", nullptr},
          {"payload_bytes", 400},
          {"sent_bytes", 1000}});
    sleep_for(config.evaluation_time_s);
    evaluate(i, train_time_s);
    checkpoint.write_if_due(i);
  }
  if (config.fault.kind == "crash_at_end" && config.fault.rank == rank && checkpoint.first_strike()) return 3;
  if (rank == 0) {
    emit({{"event", "summary"},
          {"parameters", 100},
          {"effective_density", 1.0},
          {"vnmse", nullptr},
          {"parameters_hash", "00"}});
  }
  emit({{"event", "finished"}, {"rank", rank}, {"traffic", Json::object()}});
  if (config.fault.kind == "slow_exit") sleep_for(2);
  return config.fault.kind == "late_exit" && config.fault.rank == rank ? 3 : 0;
}

}  // namespace thinpipe::fake
