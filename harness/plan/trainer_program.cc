#include "harness/plan/trainer_program.hh"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
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

}  // namespace

std::vector<CheckedConfig> TrainerProgram::check(const std::vector<std::string>& configs) const {
  Json answers = ask("check", fmt::format("[{}]", fmt::join(configs, ",")));
  if (!answers.is_array() || answers.size() != configs.size()) {
    throw Error(fmt::format("{} check: expected {} answers, got {}", path_, configs.size(), answers.dump()));
  }
  std::vector<CheckedConfig> out;
  for (Json& answer : answers) {
    CheckedConfig& checked = out.emplace_back();
    checked.ok = answer.at("ok").get<bool>();
    if (checked.ok) {
      checked.config = std::move(answer.at("config"));
      checked.plan = std::move(answer.at("plan"));
      checked.content = answer.value("content", Json::object());
      for (const Json& remark : answer.value("missing", Json::array()))
        checked.missing.push_back(read_remark(remark));
    } else {
      checked.wrong = read_remark(answer);
    }
  }
  return out;
}

Json TrainerProgram::cost(const Json& config) const {
  return ask("cost", config.dump());
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
  Json answer = Json::parse(output.text, nullptr, false);
  if (answer.is_discarded()) {
    throw Error(fmt::format("{} {}: answered with something that is not JSON: {}", path_, command,
                            output.text.substr(0, 200)));
  }
  return answer;
}

}  // namespace thinpipe
