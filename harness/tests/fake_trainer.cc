// SPDX-License-Identifier: Apache-2.0
// Stand-in for thinpipe-trainer in the harness's tests. Answers check and describe; as a worker, reports
// made-up measurements, or fails as the configuration's "fault" specifies.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/protocol/worker_file.hh"
#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"
#include "common/support/json_object.hh"
#include "common/support/options.hh"

namespace {

using thinpipe::Json;
using thinpipe::Rule;

struct Fault {
  std::string kind = "none";
  std::int64_t rank = 0;
  std::int64_t iteration = 1;  // in which it happens
  bool once = false;           // not again after a restart

  void visit(auto& field) {
    field("kind", kind,
          Rule{.one_of = {"none", "crash", "exit", "hang", "stop", "nan", "garbage", "binary", "flood",
                          "deep", "silent_exit", "late_exit", "slow_exit", "slow_stop", "crash_at_end",
                          "complain", "full_disk"}});
    field("rank", rank, Rule{.at_least = 0});
    field("iteration", iteration, Rule{.at_least = 1});
    field("once", once, Rule{});
  }
};

struct Synchroniser {
  std::string name = "dense";
  double ratio = 1;

  void visit(auto& field) {
    field("name", name, Rule{.one_of = {"dense", "fp16", "topk"}});
    field("ratio", ratio, Rule{.effect = "kept fraction", .above = 0, .at_most = 1});
  }
};

struct Model {
  std::string name = "m";

  void visit(auto& field) { field("name", name, Rule{}); }
};

struct Collective {
  std::string name = "gloo";

  void visit(auto& field) { field("name", name, Rule{.one_of = {"auto", "gloo", "island", "ring"}}); }
};

struct Buckets {
  std::optional<std::int64_t> size_bytes = 25 << 20;

  void visit(auto& field) {
    field("size", size_bytes, Rule{.quantity = thinpipe::Quantity::size, .none = "auto"});
  }
};

struct Pretraining {
  std::int64_t iterations = 0;

  void visit(auto& field) { field("iterations", iterations, Rule{.at_least = 0}); }
};

struct Dataset {
  std::string name = "d";
  std::optional<std::string> path;  // a file, whose content is part of the run's identity
  std::optional<std::int64_t> channels = {}, height = {}, width = {};  // of synthetic images

  void visit(auto& field) {
    field("name", name, Rule{.one_of = {"d", "synthetic"}});
    field("path", path, Rule{});
    field("channels", channels, Rule{});
    field("height", height, Rule{});
    field("width", width, Rule{});
  }
};

struct Config {
  std::int64_t seed = 1;
  std::int64_t workers = 1;
  std::int64_t iterations = 4;
  double iteration_time_s = 0.01;
  double evaluation_time_s = 0;  // per evaluation after an iteration
  std::vector<double> targets = {0.5};
  std::int64_t hold = 1;
  Model model;
  Dataset dataset;
  Synchroniser synchroniser;
  Collective collective;
  Buckets buckets;
  Pretraining pretraining;
  Fault fault;

  void visit(auto& field) {
    field("seed", seed, Rule{});
    field("workers", workers, Rule{});
    field("iterations", iterations, Rule{.at_least = 1});
    field("iteration_time", iteration_time_s, Rule{.quantity = thinpipe::Quantity::duration});
    field("evaluation_time", evaluation_time_s, Rule{.quantity = thinpipe::Quantity::duration});
    field("targets", targets, Rule{});
    field("hold", hold, Rule{});
    field("model", model, Rule{});
    field("dataset", dataset, Rule{});
    field("synchroniser", synchroniser, Rule{});
    field("collective", collective, Rule{});
    field("buckets", buckets, Rule{});
    field("pretraining", pretraining, Rule{});
    field("fault", fault, Rule{});
  }
};

void emit(const Json& event) {
  std::cout << event.dump() << std::endl;
}

double monotonic_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

std::string dataset_hash(const Dataset& dataset) {
  return dataset.path ? "hash of " + thinpipe::read_file(*dataset.path) : "hash of nothing";
}

Json content(const Config& config) {
  Json out = Json::object();
  if (config.dataset.path) out["/dataset/path"] = dataset_hash(config.dataset);
  return out;
}

// Returns the share of dense's bytes that the method sends.
double sent_share(const Synchroniser& synchroniser) {
  return synchroniser.name == "fp16" ? 0.5 : synchroniser.ratio;
}

// Each line is a configuration; each answer, too, is one line.
int check() {
  for (std::string line; std::getline(std::cin, line);) {
    Json answer;
    try {
      const auto config = thinpipe::read_options<Config>(Json::parse(line), {"", ""});
      answer = {{"ok", true},
                {"config", thinpipe::write_options(config)},
                {"content", content(config)},
                {"plan",
                 {{"parameters", 100},
                  {"gradient_bytes", 400},
                  {"bucket_bytes", {100, 300}},
                  {"iterations", config.iterations},
                  {"evaluations", config.iterations + 1},
                  {"sent_bytes_per_iteration", 1000.0 * sent_share(config.synchroniser)},
                  {"pairwise_bytes_per_iteration", 0.0},
                  {"codes_per_iteration", 0.0},
                  {"largest_code", 1},
                  {"payload_bytes_per_iteration", 400.0 * sent_share(config.synchroniser)}}}};
    } catch (const thinpipe::InputError& error) {
      answer = {{"ok", false}, {"pointer", error.place().pointer}, {"message", error.message()}};
    }
    std::cout << answer.dump() << std::endl;
  }
  return 0;
}

// Stands in for Python: an option "wrong" is wrong.
int check_hook() {
  const Json hook = Json::parse(std::cin);
  if (hook.contains("wrong")) {
    std::cout << Json{{"ok", false}, {"pointer", "/wrong"}, {"message", "is wrong, says Python"}};
  } else {
    std::cout << Json{{"ok", true}};
  }
  return 0;
}

int describe() {
  const Json options = thinpipe::describe_options<Synchroniser>();
  const Json without_options = {{"summary", "is there"}, {"options", Json::array()}};
  std::cout << Json{{"synchronisers",
                     {{"dense", without_options},
                      {"fp16", without_options},
                      {"topk", {{"summary", "keeps the largest"}, {"options", options}}}}},
                    {"models", {{"m", without_options}}},
                    {"datasets",
                     {{"d", {{"summary", "is there"}, {"options", Json::array()}}},
                      {"absent",
                       {{"summary", "is not there"},
                        {"options", {{{"key", "directory"}, {"effect", "where it would lie"}}}}}}}},
                    {"collectives", {{"gloo", {{"summary", "invented"}, {"options", Json::array()}}}}},
                    {"configuration", thinpipe::describe_options<Config>()},
                    {"cuda_devices", 0},
                    {"libraries", {{"libtorch", "none"}}}};
  return 0;
}

int cost() {
  const auto config = thinpipe::read_options<Config>(Json::parse(std::cin), {"", ""});
  std::cout << Json{{"compute_s", config.iteration_time_s}, {"memory_bytes", 1000000}};
  return 0;
}

int pretrain(const char* path) {
  const auto [output, training] = thinpipe::load_worker_file<thinpipe::PretrainFile>(path);
  const auto config = thinpipe::read_options<Config>(training, {"", ""});
  const auto iterations = static_cast<double>(config.pretraining.iterations);
  sleep_for(iterations * config.iteration_time_s);
  std::ofstream(output) << "weights";
  std::ofstream(fmt::format("{}.made-by-{}", output, ::getpid())) << "";  // for tests that count
  emit({{"event", "pretraining"}, {"iteration", 1}, {"iterations", 1}, {"train_loss", 1.0}});
  emit({{"event", "pretrained"},
        {"test_accuracy", 0.25},
        {"train_time_s", 0.5 * iterations},
        {"output", output}});
  return 0;
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
  explicit Checkpoint(const std::optional<thinpipe::CheckpointOptions>& options) {
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
int stop_slowly(const thinpipe::InterruptionOptions& interruption, int rank, std::int64_t iteration) {
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

int work(const char* path) {
  const auto file = thinpipe::load_worker_file<thinpipe::WorkFile>(path);
  const int rank = file.group_options.rank;
  const auto config = thinpipe::read_options<Config>(file.config, {"", ""});
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

}  // namespace

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "check") return check();
  if (command == "check-hook") return check_hook();
  if (command == "describe") return describe();
  if (command == "cost") return cost();
  if (argc != 3) return 2;
  return command == "pretrain" ? pretrain(argv[2]) : work(argv[2]);
}
