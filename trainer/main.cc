// thinpipe-trainer: the worker program. `thinpipe run` starts it; users can start it to
// examine a single worker.
#include <csignal>
#include <iostream>
#include <iterator>
#include <mutex>

#include <CLI/CLI.hpp>
#include <spdlog/spdlog.h>

#include "common/protocol/worker_file.hh"
#include "common/support/log.hh"
#include "common/support/standard_streams.hh"
#include "common/support/utf8.hh"
#include "trainer/base/library_error.hh"
#include "trainer/base/process.hh"
#include "trainer/commands/check.hh"
#include "trainer/commands/compute_cost.hh"
#include "trainer/commands/convergence.hh"
#include "trainer/commands/convert.hh"
#include "trainer/commands/estimation.hh"
#include "trainer/commands/forward.hh"
#include "trainer/commands/pretraining.hh"
#include "trainer/commands/profiling.hh"
#include "trainer/commands/replay_worker.hh"
#include "trainer/commands/worker.hh"

namespace {

using thinpipe::Json;

enum Exit : int { kSuccess = 0, kFailure = 1, kWrongInput = 2 };

// Writes an event to standard output, one object per line, flushed at once, because the controller follows
// them live. The heartbeat's thread calls this, too.
void emit(const thinpipe::Event& event) {
  static std::mutex writing;
  const std::lock_guard lock(writing);
  std::cout << thinpipe::to_json(event).dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
}

int check(bool by_lines) {
  if (by_lines) {
    thinpipe::trainer::check_lines(std::cin, std::cout);
    return kSuccess;
  }
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  std::cout << thinpipe::trainer::check_configurations(thinpipe::parse_json(text, "standard input")).dump()
            << '\n';
  return kSuccess;
}

int cost() {
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  const auto config = thinpipe::trainer::parse_training_config(thinpipe::parse_json(text, "standard input"),
                                                               {"standard input", ""});
  const thinpipe::trainer::ComputeCost measured = thinpipe::trainer::measure_compute_cost(config);
  std::cout << Json{{"compute_s", measured.compute_s}, {"memory_bytes", measured.memory_bytes}} << '\n';
  return kSuccess;
}

int pretrain(const std::string& path) {
  const auto file = thinpipe::load_worker_file<thinpipe::PretrainFile>(path);
  const auto config = thinpipe::trainer::parse_training_config(file.config, {path, "/config"});
  thinpipe::trainer::pretrain(config, file.output, emit);
  return kSuccess;
}

int converge(const std::string& path) {
  return thinpipe::trainer::converge(thinpipe::trainer::read_convergence_file(path), emit) ? kSuccess
                                                                                           : kFailure;
}

int profile(const std::string& path) {
  return thinpipe::trainer::profile(thinpipe::trainer::read_profile_file(path), emit) ? kSuccess : kFailure;
}

int estimate(const std::string& path) {
  return thinpipe::trainer::estimate(thinpipe::trainer::read_estimation_file(path), emit) ? kSuccess
                                                                                          : kFailure;
}

int replay(const std::string& path) {
  const auto file = thinpipe::load_worker_file<thinpipe::ReplayFile>(path);
  return thinpipe::trainer::replay(file, emit) ? kSuccess : kFailure;
}

int work(const std::string& path) {
  return thinpipe::trainer::work(thinpipe::trainer::read_worker_file(path), emit) ? kSuccess : kFailure;
}

int run(int argc, char** argv) {
  // Standard output is reserved for events and answers.
  spdlog::set_default_logger(thinpipe::make_log_to_standard_error("info"));
  // If the controller is gone, a write must fail with an error instead of killing the process silently.
  std::signal(SIGPIPE, SIG_IGN);
  thinpipe::trainer::keep_freed_memory();
  CLI::App app{"The worker program of thinpipe: trains one replica and synchronises its gradients."};
  app.require_subcommand(1);
  std::string file;
  int exit_code = kSuccess;
  auto* checking = app.add_subcommand(
      "check", "validate the training configurations on standard input, a list, and print their cost");
  bool by_lines = false;
  checking->add_flag("--lines", by_lines,
                     "read one configuration per line, and answer each before reading the next");
  checking->callback([&] { exit_code = check(by_lines); });
  app.add_subcommand("describe",
                     "print every model, data set, method and collective with its options, as JSON")
      ->callback([] { std::cout << thinpipe::trainer::describe().dump(2) << '\n'; });
  app.add_subcommand("cost",
                     "measure time and memory of an iteration of the training configuration on standard "
                     "input, for one worker alone")
      ->callback([&] { exit_code = cost(); });
  auto* pretraining = app.add_subcommand("pretrain", "train the initial weights that FILE describes");
  pretraining->add_option("FILE", file, "pretrain.json")->required();
  pretraining->callback([&] { exit_code = pretrain(file); });
  auto* going_forward = app.add_subcommand(
      "forward",
      "run a model on given weights and inputs, to compare its output with another program's: FILE is "
      "{\"schema_version\": 1, \"model\": {\"name\": ...}, \"shape\": {\"channels\", \"height\", \"width\", "
      "\"classes\"} or {\"sequence_length\", \"classes\"}, \"weights\": PATH, \"inputs\": PATH, "
      "\"output\": PATH}; Python writes the inputs with torch.save(dict(model.state_dict()), weights) and "
      "torch.save({\"inputs\": inputs}, inputs_path), and reads torch.load(output)[\"logits\"]");
  going_forward->add_option("FILE", file, "forward.json")->required();
  going_forward->callback([&] { thinpipe::trainer::forward(file); });
  auto* working = app.add_subcommand("work", "run the worker that FILE describes");
  working->add_option("FILE", file, "worker.json")->required();
  working->callback([&] { exit_code = work(file); });
  auto* converging = app.add_subcommand(
      "converge", "train all workers of FILE in this process, without a network and without measuring time");
  converging->add_option("FILE", file, "converge.json")->required();
  converging->callback([&] { exit_code = converge(file); });
  auto* profiling =
      app.add_subcommand("profile",
                         "measure the time of each part of an iteration, together with the other workers, "
                         "for replays: FILE is a worker's file with \"output\": PATH");
  profiling->add_option("FILE", file, "profile.json")->required();
  profiling->callback([&] { exit_code = profile(file); });
  auto* estimating = app.add_subcommand(
      "estimate",
      "estimate the time of each part of an iteration on a device that this machine does not have: FILE is "
      "{\"schema_version\": 1, \"config\": {a training configuration}, \"device\": {as in "
      "trainer/profiles/a40.json}, \"output\": PATH}");
  estimating->add_option("FILE", file, "estimate.json")->required();
  estimating->callback([&] { exit_code = estimate(file); });
  auto* replaying = app.add_subcommand("replay", "replay the worker that FILE describes, without computing");
  replaying->add_option("FILE", file, "replay-worker.json")->required();
  replaying->callback([&] { exit_code = replay(file); });
  std::string output;
  auto* converting = app.add_subcommand(
      "convert", "copy named tensors to another file format, chosen by the extension of OUT");
  converting->add_option("IN", file, "a file of torch.save, or .safetensors")->required();
  converting->add_option("OUT", output, "*.safetensors, or *.pt, *.pth or *.bin for PyTorch")->required();
  converting->callback([&] { std::cout << thinpipe::trainer::convert(file, output) << '\n'; });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kSuccess : kWrongInput;
  } catch (const thinpipe::InputError& error) {
    thinpipe::print_stderr("thinpipe-trainer: {}\n", thinpipe::printable_lines(error.what()));
    return kWrongInput;
  } catch (const std::exception& error) {
    thinpipe::print_stderr("thinpipe-trainer: {}\n",
                           thinpipe::printable_lines(thinpipe::trainer::message_of(error)));
    return kFailure;
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  thinpipe::keep_standard_streams();
  return thinpipe::exit_code_with_output("thinpipe-trainer", run(argc, argv));
}
