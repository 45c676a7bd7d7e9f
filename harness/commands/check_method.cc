// SPDX-License-Identifier: Apache-2.0
// thinpipe check-method: examines whether a method keeps the promises that training relies on.
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/support/child_process.hh"
#include "common/support/utf8.hh"
#include "harness/commands/command.hh"
#include "harness/experiment/override.hh"
#include "harness/plan/trainer_program.hh"

namespace thinpipe {
namespace {

struct CheckMethodOptions {
  std::string method;
  std::vector<std::string> settings;
  std::vector<int> workers;
  std::vector<std::string> backends;
  std::string hang_timeout = "20 s";
  bool json = false;
};

Json question(const CheckMethodOptions& options) {
  Json synchroniser = {{"name", options.method}};
  for (const std::string& setting : options.settings)
    synchroniser.merge_patch(parse_override(setting, {}).patch);
  Json out = {{"synchroniser", std::move(synchroniser)}};
  if (!options.workers.empty()) out["workers"] = options.workers;
  if (!options.backends.empty()) out["backends"] = options.backends;
  double hang_timeout_s = 0;
  read_value(options.hang_timeout, {"--hang-timeout", ""},
             {.quantity = Quantity::duration, .above = 0, .at_most = 3600}, hang_timeout_s);
  out["hang_timeout_s"] = hang_timeout_s;
  return out;
}

// Returns "among threads with 1, 2, 8; over gloo with 2 workers".
std::string listed(const Json& groups) {
  std::vector<std::string> out;
  std::string last;
  for (const Json& group : groups) {
    const auto backend = group.at("backend").get<std::string>();
    const auto workers = group.at("workers").get<int>();
    if (backend == last) {
      out.back() += fmt::format(", {}", workers);
    } else {
      out.push_back(
          fmt::format("{} with {}", backend == "in_process" ? "among threads" : "over " + backend, workers));
    }
    last = backend;
  }
  return fmt::format("{} workers", fmt::join(out, "; "));
}

std::string text(const Json& promise, const char* key) {
  return printable_lines(promise.at(key).get<std::string>());
}

void print_table(const Json& promises) {
  fmt::print("{:32}{:14}{}\n", "promise", "verdict", "explanation");
  for (const Json& promise : promises) {
    const std::string reason = text(promise, "reason");
    fmt::print("{:32}{:14}{}\n", text(promise, "name"), text(promise, "verdict"),
               reason.empty() ? text(promise, "meaning") : reason);
  }
}

void print_violation(const Json& promise) {
  fmt::print("\nVIOLATED: {}\n", text(promise, "name"));
  fmt::print("  {}\n  Why it matters: {}\n  What to do: {}\n  Found:\n", text(promise, "meaning"),
             text(promise, "consequence"), text(promise, "remedy"));
  for (const Json& finding : promise.at("findings")) fmt::print("    {}\n", text(finding, "what"));
  const auto more = promise.at("finding_count").get<std::size_t>() - promise.at("findings").size();
  if (more > 0) fmt::print("    and {} more like these\n", more);
}

void print_answer(const std::string& method, const Json& answer) {
  fmt::print("{}, examined {}\n", printable(method), listed(answer.at("examined")));
  if (const Json& skipped = answer.at("skipped"); !skipped.empty()) {
    fmt::print("Skipped: {}. The number {}.\n", listed(skipped),
               skipped.front().at("reason").get<std::string>());
  }
  fmt::print("\n");
  print_table(answer.at("promises"));
  std::size_t violated = 0;
  for (const Json& promise : answer.at("promises")) {
    if (promise.at("verdict") != "violated") continue;
    ++violated;
    print_violation(promise);
  }
  fmt::print("\n{}\n", violated == 0 ? "The method keeps every examined promise."
                                     : fmt::format("The method breaks {} promise{}.", violated,
                                                   violated == 1 ? "" : "s"));
}

int check_method(const CheckMethodOptions& options) {
  const TrainerProgram trainer = TrainerProgram::find();
  const Output output = run_program({trainer.path(), "check-method"}, question(options).dump());
  const Json answer = Json::parse(output.text, nullptr, false);
  if (!answer.is_object()) {
    throw Error(
        fmt::format("{} check-method: ended with {} without an answer; its output above has the reason",
                    trainer.path(), output.status.describe()));
  }
  if (const auto wrong = answer.find("wrong"); wrong != answer.end()) {
    throw InputError({"thinpipe check-method " + options.method, wrong->at("pointer").get<std::string>()},
                     wrong->at("message").get<std::string>());
  }
  if (options.json) {
    fmt::print("{}\n", answer.dump(2));
  } else {
    print_answer(options.method, answer);
  }
  return answer.at("conforms").get<bool>() ? 0 : 1;
}

void add_check_method(CLI::App& program, Invocation& invocation) {
  const auto options = std::make_shared<CheckMethodOptions>();
  CLI::App& command = *program.add_subcommand(
      "check-method",
      "Examine whether a method keeps the promises that training relies on, and explain why not");
  command
      .add_option("method", options->method,
                  "A method's name (see thinpipe list synchronisers), or FILE.py:CLASS")
      ->required()
      ->type_name("METHOD");
  command
      .add_option("--set", options->settings,
                  "Set an option of the method, for example ratio=0.1; may be repeated")
      ->type_name("OPTION=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--workers", options->workers,
                  "Numbers of workers, for example 2,3 (default: 1,2,3,8; over a network 2)")
      ->delimiter(',')
      ->type_name("N,...");
  command
      .add_option("--backend", options->backends,
                  "in_process (threads, without a network), gloo, ring or island (default: in_process,gloo)")
      ->delimiter(',')
      ->type_name("NAME,...");
  command
      .add_option("--hang-timeout", options->hang_timeout,
                  "Give up if no worker gets any further for this long")
      ->type_name("DURATION")
      ->capture_default_str();
  command.add_flag("--json", options->json, "Print JSON");
  command.footer(
      "Examples:\n"
      "  thinpipe check-method my_method.py:MyTopK\n"
      "  thinpipe check-method my_method.py:MyTopK --set ratio=0.1 --workers 2,3\n"
      "  thinpipe check-method topk --set ratio=0.1 --backend in_process,gloo,ring,island --json\n"
      "Every method must give the same result on every worker, keep zero and pruned entries at zero, pass on NaN,\n"
      "forget a skipped step, and continue after a checkpoint. Its properties add promises: that the result is the\n"
      "mean, that it is unbiased, or that nothing is lost. docs/reference/methods.md lists them.\n"
      "Exit codes: 0 every examined promise is kept; 1 one is broken; 2 wrong input, such as an unknown option.");
  command.callback(
      [options, &invocation] { invocation.action = [options] { return check_method(*options); }; });
}

THINPIPE_REGISTER(Command){14, add_check_method};

}  // namespace
}  // namespace thinpipe
