// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/method_checking.hh"

#include <cstdlib>
#include <iostream>

#include <unistd.h>

#include "common/support/standard_streams.hh"
#include "trainer/commands/conformance/check_method.hh"

namespace thinpipe::trainer {
namespace {

void write_answer(const Json& answer) {
  std::cout << answer.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
}

}  // namespace

int answer_method_check(const Json& question) {
  const bool watched = ::isatty(STDERR_FILENO) != 0;
  const auto show = [watched](const std::string& stage) {
    if (watched) print_stderr("\r\033[K{}", stage.empty() ? "" : "examining " + stage);
  };
  try {
    const Json answer = check_method(question, {.on_stage = show, .on_hang = [&](const Json& hung) {
                                                  show("");
                                                  write_answer(hung);
                                                  std::_Exit(0);  // the workers' threads cannot be ended
                                                }});
    show("");
    write_answer(answer);
    return 0;
  } catch (const InputError& error) {
    show("");
    write_answer({{"wrong", {{"pointer", error.place().pointer}, {"message", error.message()}}}});
    return 2;
  }
}

}  // namespace thinpipe::trainer
