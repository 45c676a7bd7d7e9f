// thinpipe-trainer: the worker program. `thinpipe run` starts it; by hand it serves to look into a single
// worker.
#include <csignal>
#include <iostream>
#include <iterator>
#include <mutex>

#include <CLI/CLI.hpp>
#include <spdlog/spdlog.h>

#include "harness/support/log.hh"
#include "harness/support/standard_streams.hh"
#include "harness/support/utf8.hh"
#include "trainer/check.hh"
#include "trainer/compute_cost.hh"
#include "trainer/convergence.hh"
#include "trainer/convert.hh"
#include "trainer/estimation.hh"
#include "trainer/forward.hh"
#include "trainer/library_error.hh"
#include "trainer/pretraining.hh"
#include "trainer/process.hh"
#include "trainer/profiling.hh"
#include "trainer/replay/replay_worker.hh"
#include "trainer/worker.hh"

namespace {

using thinpipe::Json;

enum Exit : int { kSuccess = 0, kFailure = 1, kWrongInput = 2 };

// Events go to standard output, one object a line, each at once: the controller follows them live. The
// heartbeat has a thread of its own.
void emit(const Json& event) {
  static std::mutex writing;
  const std::lock_guard lock(writing);
  std::cout << event.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
}

int check() {
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
  const Json json = thinpipe::parse_json_file(path);
  thinpipe::JsonObject object(json, {path, ""});
  std::int64_t schema_version = 0;
  std::string output;
  object.read("schema_version", schema_version, {.at_least = 1, .at_most = 1, .required = true});
  object.read("output", output, {.required = true});
  const auto config =
      thinpipe::trainer::parse_training_config(object.get("config"), object.place_of("config"));
  object.finish();
  thinpipe::trainer::pretrain(config, output, emit);
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
  return thinpipe::trainer::replay(thinpipe::trainer::read_replay_file(path), emit) ? kSuccess : kFailure;
}

int work(const std::string& path) {
  return thinpipe::trainer::work(thinpipe::trainer::read_worker_file(path), emit) ? kSuccess : kFailure;
}

int run(int argc, char** argv) {
  // Standard output is for events and answers.
  spdlog::set_default_logger(thinpipe::make_log_to_standard_error("info"));
  // A controller that has gone must show as a failed write, not as a silent death.
  std::signal(SIGPIPE, SIG_IGN);
  thinpipe::trainer::keep_freed_memory();
  CLI::App app{"The worker program of thinpipe: trains one replica and synchronises its gradients."};
  app.require_subcommand(1);
  std::string file;
  int exit_code = kSuccess;
  app.add_subcommand("check",
                     "validate the training configurations on standard input and say what they will cost")
      ->callback([&] { exit_code = check(); });
  app.add_subcommand("describe",
                     "print every model, data set, method and collective with its options, as JSON")
      ->callback([] { std::cout << thinpipe::trainer::describe().dump(2) << '\n'; });
  app.add_subcommand("cost",
                     "measure what an iteration of the training configuration on standard input takes one "
                     "worker alone, in time and memory")
      ->callback([&] { exit_code = cost(); });
  auto* pretraining = app.add_subcommand("pretrain", "make the starting weights that a file asks for");
  pretraining->add_option("FILE", file, "pretrain.json")->required();
  pretraining->callback([&] { exit_code = pretrain(file); });
  auto* going_forward = app.add_subcommand(
      "forward",
      "run a model on weights and inputs of yours, to hold it against another program's: FILE is "
      "{\"schema_version\": 1, \"model\": {\"name\": ...}, \"shape\": {\"channels\", \"height\", \"width\", "
      "\"classes\"} or {\"sequence_length\", \"classes\"}, \"weights\": PATH, \"inputs\": PATH, \"output\": "
      "PATH}; "
      "Python writes them with torch.save(dict(model.state_dict()), weights) and torch.save(inputs, inputs), "
      "and "
      "finds torch.load(output)[\"logits\"]");
  going_forward->add_option("FILE", file, "forward.json")->required();
  going_forward->callback([&] { thinpipe::trainer::forward(file); });
  auto* working = app.add_subcommand("work", "be the worker that a file describes");
  working->add_option("FILE", file, "worker.json")->required();
  working->callback([&] { exit_code = work(file); });
  auto* converging = app.add_subcommand(
      "converge", "train all of a file's workers in this process, without a network and without the clock");
  converging->add_option("FILE", file, "converge.json")->required();
  converging->callback([&] { exit_code = converge(file); });
  auto* profiling =
      app.add_subcommand("profile",
                         "measure, as one of the workers that compute at the same time, what "
                         "the parts of an iteration take here, for replays: FILE is a worker's, "
                         "and has \"output\": PATH");
  profiling->add_option("FILE", file, "profile.json")->required();
  profiling->callback([&] { exit_code = profile(file); });
  auto* estimating = app.add_subcommand(
      "estimate",
      "estimate what the parts of an iteration would take on a device that is not here: FILE is "
      "{\"schema_version\": 1, \"config\": {the training's}, \"device\": {as trainer/profiles/a40.json}, "
      "\"output\": PATH}");
  estimating->add_option("FILE", file, "estimate.json")->required();
  estimating->callback([&] { exit_code = estimate(file); });
  auto* replaying =
      app.add_subcommand("replay", "be the worker that a file describes, which has nothing to compute");
  replaying->add_option("FILE", file, "replay-worker.json")->required();
  replaying->callback([&] { exit_code = replay(file); });
  std::string output;
  auto* converting = app.add_subcommand(
      "convert", "copy named tensors from one file format to another, by the ending of OUT");
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
