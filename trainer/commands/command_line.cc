// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/command_line.hh"

#include <array>
#include <csignal>
#include <iostream>
#include <iterator>
#include <mutex>

#include <CLI/CLI.hpp>
#include <spdlog/spdlog.h>

#include "common/protocol/worker_file.hh"
#include "common/support/child_process.hh"
#include "common/support/log.hh"
#include "common/support/standard_streams.hh"
#include "common/support/utf8.hh"
#include "trainer/base/library_error.hh"
#include "trainer/base/process.hh"
#include "trainer/commands/check.hh"
#include "trainer/commands/compute_cost.hh"
#include "trainer/commands/convergence.hh"
#include "trainer/commands/convert.hh"
#include "trainer/commands/describe.hh"
#include "trainer/commands/estimation.hh"
#include "trainer/commands/forward.hh"
#include "trainer/commands/method_checking.hh"
#include "trainer/commands/network_measuring.hh"
#include "trainer/commands/pretraining.hh"
#include "trainer/commands/profiling.hh"
#include "trainer/commands/python_host.hh"
#include "trainer/commands/replay_worker.hh"
#include "trainer/commands/worker.hh"

namespace thinpipe::trainer {
namespace {

enum Exit : int { kSuccess = 0, kFailure = 1, kWrongInput = 2 };

// Writes an event to standard output, one object per line, flushed at once, because the controller follows
// them live. The heartbeat's thread calls this, too.
void emit(const Event& event) {
  static std::mutex writing;
  const std::lock_guard lock(writing);
  std::cout << thinpipe::to_json(event).dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
}

// Answers the JSON on standard input with one line of JSON. `reply` does so and returns the exit code.
int answer(const char* command, int (*reply)(const Json& question)) {
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  const Json question = parse_json(text, "standard input");
  if (needs_python_host(question)) {
    const Output answered = run_program(in_python({command}), text);
    std::cout << answered.text;
    return answered.status.code;
  }
  return reply(question);
}

int print_cost(const Json& config) {
  const ComputeCost cost = measure_compute_cost(parse_training_config(config, {"standard input", ""}));
  const Json answer = {{"compute_s", cost.compute_s}, {"memory_bytes", cost.memory_bytes}};
  std::cout << answer.dump() << '\n';
  return kSuccess;
}

int print_checked(const Json& configurations) {
  std::cout << check_configurations(configurations).dump() << '\n';
  return kSuccess;
}

int check(bool by_lines) {
  if (!by_lines) return answer("check", print_checked);
  check_lines(std::cin, std::cout);
  return kSuccess;
}

// The commands with a FILE. Each returns the exit code.

int pretrain_from(const std::string& path) {
  const auto file = load_worker_file<PretrainFile>(path);
  pretrain(parse_training_config(file.config, {path, "/config"}), file.output, emit);
  return kSuccess;
}

int converge_from(const std::string& path) {
  return converge(read_convergence_file(path), emit) ? kSuccess : kFailure;
}

int profile_from(const std::string& path) {
  return profile(read_profile_file(path), emit) ? kSuccess : kFailure;
}

int estimate_from(const std::string& path) {
  return estimate(read_estimation_file(path), emit) ? kSuccess : kFailure;
}

int replay_from(const std::string& path) {
  return replay(load_worker_file<ReplayFile>(path), emit) ? kSuccess : kFailure;
}

int measure_from(const std::string& path) {
  return measure_network(load_worker_file<MeasureFile>(path), emit) ? kSuccess : kFailure;
}

int work_from(const std::string& path) {
  return work(read_worker_file(path), emit) ? kSuccess : kFailure;
}

int forward_from(const std::string& path) {
  forward(path);
  return kSuccess;
}

struct FileCommand {
  const char* name;
  const char* effect;
  const char* file;  // its usual name
  int (*run)(const std::string& path);
};

constexpr std::array file_commands = {
    FileCommand{"pretrain", "train the initial weights that FILE describes", "pretrain.json", pretrain_from},
    FileCommand{
        "forward",
        "run a model on given weights and inputs, to compare its output with another program's: FILE is "
        "{\"schema_version\": 1, \"model\": {\"name\": ...}, \"shape\": {\"channels\", \"height\", \"width\", "
        "\"classes\"} or {\"sequence_length\", \"classes\"}, \"weights\": PATH, \"inputs\": PATH, "
        "\"output\": PATH}; Python writes the inputs with torch.save(dict(model.state_dict()), weights) and "
        "torch.save({\"inputs\": inputs}, inputs_path), and reads torch.load(output)[\"logits\"]",
        "forward.json", forward_from},
    FileCommand{"work", "run the worker that FILE describes", "worker.json", work_from},
    FileCommand{"converge",
                "train all workers of FILE in this process, without a network and without measuring time",
                "converge.json", converge_from},
    FileCommand{"profile",
                "measure the time of each part of an iteration, together with the other workers, for "
                "replays: FILE is a worker's file with \"output\": PATH",
                "profile.json", profile_from},
    FileCommand{
        "estimate",
        "estimate the time of each part of an iteration on a device that this machine does not have: FILE is "
        "{\"schema_version\": 2, \"config\": {a training configuration}, \"device\": {as in "
        "trainer/profiles/a40.json}, \"output\": PATH}",
        "estimate.json", estimate_from},
    FileCommand{"replay", "replay the worker that FILE describes, without computing", "replay-worker.json",
                replay_from},
    FileCommand{"measure", "measure the real network between the workers of FILE, together with the others",
                "measure.json", measure_from},
};

// The commands of Python's command line (trainer/python/thinpipe/__main__.py). Each returns only if there is no Python.

int check_hook_in_python() {
  try {
    continue_in_python({"check-hook"});
  } catch (const std::exception& error) {
    const Json answer = {{"ok", false}, {"pointer", "/name"}, {"message", error.what()}};
    std::cout << answer.dump() << '\n';
    return kSuccess;
  }
}

int run_in_python(const std::vector<std::string>& program) {
  if (program.empty()) throw CLI::RequiredError("PROGRAM");
  try {
    become(program_in_python(program));
  } catch (const std::exception& error) {
    emit(event::Failed{.kind = "input", .message = error.what()});  // the program would be a worker
    return kFailure;
  }
}

int parse_and_run(int argc, const char* const* argv) {
  // Standard output is reserved for events and answers.
  spdlog::set_default_logger(make_log_to_standard_error("info"));
  // If the controller is gone, a write must fail with an error instead of killing the process silently.
  std::signal(SIGPIPE, SIG_IGN);
  keep_freed_memory();
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
      ->callback([] { std::cout << describe().dump(2) << '\n'; });
  app.add_subcommand("cost",
                     "measure time and memory of an iteration of the training configuration on standard "
                     "input, for one worker alone")
      ->callback([&] { exit_code = answer("cost", print_cost); });
  app.add_subcommand(
         "check-method",
         "examine whether the method on standard input, {\"synchroniser\": {...}}, keeps the promises "
         "of all methods and its own, and print the findings as JSON")
      ->callback([&] { exit_code = answer("check-method", answer_method_check); });
  auto* hook_checking = app.add_subcommand(
      "check-hook",
      "examine the communication hook on standard input, {\"name\": \"FILE.py:FUNCTION\", options}, for the "
      "trainer pytorch-ddp");
  hook_checking->callback([&] { exit_code = check_hook_in_python(); });
  auto* python = app.add_subcommand(
      "python",
      "run a Python program with its arguments, PROGRAM [ARGUMENT...], so that it finds the package thinpipe");
  python->prefix_command();
  python->callback([&] { exit_code = run_in_python(python->remaining()); });
  for (const FileCommand& command : file_commands) {
    auto* with_file = app.add_subcommand(command.name, command.effect);
    with_file->add_option("FILE", file, command.file)->required();
    with_file->callback([&, argv] {
      if (needs_python_host(parse_json_file(file))) continue_in_python({argv + 1, argv + argc});
      exit_code = command.run(file);
    });
  }
  std::string output;
  auto* converting = app.add_subcommand(
      "convert", "copy named tensors to another file format, chosen by the extension of OUT");
  converting->add_option("IN", file, "a file of torch.save, or .safetensors")->required();
  converting->add_option("OUT", output, "*.safetensors, or *.pt, *.pth or *.bin for PyTorch")->required();
  converting->callback([&] { std::cout << convert(file, output) << '\n'; });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kSuccess : kWrongInput;
  } catch (const InputError& error) {
    print_stderr("thinpipe-trainer: {}\n", printable_lines(error.what()));
    return kWrongInput;
  } catch (const std::exception& error) {
    print_stderr("thinpipe-trainer: {}\n", printable_lines(message_of(error)));
    return kFailure;
  }
  return exit_code;
}

}  // namespace

int run_command_line(int argc, const char* const* argv) {
  keep_standard_streams();
  return exit_code_with_output("thinpipe-trainer", parse_and_run(argc, argv));
}

}  // namespace thinpipe::trainer
