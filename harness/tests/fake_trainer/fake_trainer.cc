// SPDX-License-Identifier: Apache-2.0
// Stand-in for thinpipe-trainer in the harness's tests.
#include <chrono>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "common/protocol/worker_file.hh"
#include "harness/tests/fake_trainer/commands.hh"
#include "harness/tests/fake_trainer/config.hh"

namespace thinpipe::fake {

void emit(const Json& event) {
  std::cout << event.dump() << std::endl;
}

void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

int pretrain(const char* path) {
  const auto [output, training] = load_worker_file<PretrainFile>(path);
  const auto config = read_options<Config>(training, {"", ""});
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

}  // namespace thinpipe::fake

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "check") return thinpipe::fake::check();
  if (command == "check-hook") return thinpipe::fake::check_hook();
  if (command == "describe") return thinpipe::fake::describe();
  if (command == "cost") return thinpipe::fake::cost();
  if (argc != 3) return 2;
  return command == "pretrain" ? thinpipe::fake::pretrain(argv[2]) : thinpipe::fake::work(argv[2]);
}
