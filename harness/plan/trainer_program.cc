// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/trainer_program.hh"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "common/support/child_process.hh"

namespace thinpipe {

TrainerProgram TrainerProgram::find() {
  const char* const named = std::getenv("THINPIPE_TRAINER");
  const std::filesystem::path path =
      named != nullptr ? std::filesystem::path(named)
                       : std::filesystem::read_symlink("/proc/self/exe").parent_path() / "thinpipe-trainer";
  if (::access(path.c_str(), X_OK) != 0) {
    throw Error(
        fmt::format("cannot find the worker program {}: build the target thinpipe-trainer, or set "
                    "THINPIPE_TRAINER to its path",
                    path.string()));
  }
  return TrainerProgram(path);
}

namespace {

Remark read_remark(const Json& json) {
  return {.pointer = json.at("pointer").get<std::string>(), .message = json.at("message").get<std::string>()};
}

// Parses the trainer's output. Throws Error if it is not JSON, naming `asked`: the program and its command.
Json parse_answer(const std::string& text, const std::string& asked) {
  Json answer = Json::parse(text, nullptr, false);
  if (answer.is_discarded()) {
    throw Error(fmt::format("{}: answered with something that is not JSON: {}", asked, text.substr(0, 200)));
  }
  return answer;
}

}  // namespace

Json TrainerProgram::cost(const Json& config) const {
  return ask("cost", config.dump());
}

std::optional<Remark> TrainerProgram::check_hook(const Json& hook) const {
  const Json answer = ask("check-hook", hook.dump());
  return answer.at("ok").get<bool>() ? std::nullopt : std::optional(read_remark(answer));
}

Json TrainerProgram::describe() const {
  Json description = ask("describe", "");
  if (!description.contains("configuration")) {
    throw Error(path_ + " is too old to describe its configuration: rebuild thinpipe-trainer");
  }
  return description;
}

Json TrainerProgram::ask(const std::string& command, const std::string& input) const {
  const Output output = run_program({path_, command}, input);
  if (!output.status.ok()) {
    throw Error(fmt::format("{} {}: ended with {}", path_, command, output.status.describe()));
  }
  return parse_answer(output.text, fmt::format("{} {}", path_, command));
}

CheckedConfig ConfigChecker::answer() {
  Json answer = parse_answer(trainer_.receive_line(), trainer_.name());
  CheckedConfig checked;
  checked.ok = answer.at("ok").get<bool>();
  if (!checked.ok) {
    checked.wrong = read_remark(answer);
    return checked;
  }
  checked.config = std::move(answer.at("config"));
  checked.plan = std::move(answer.at("plan"));
  checked.content = answer.value("content", Json::object());
  for (const Json& remark : answer.value("missing", Json::array()))
    checked.missing.push_back(read_remark(remark));
  return checked;
}

}  // namespace thinpipe
