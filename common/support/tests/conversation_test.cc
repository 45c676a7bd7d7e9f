// SPDX-License-Identifier: Apache-2.0
#include "common/support/conversation.hh"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/exception.hh"

namespace thinpipe {
namespace {

using testing::HasSubstr;

Conversation with_shell(const std::string& script) {
  return Conversation({"/bin/sh", "-c", script});
}

std::string failure(Conversation conversation) {
  try {
    return "answered " + conversation.ask("hello");
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Conversation, EachLineIsAnsweredBeforeTheNextIsSent) {
  Conversation counting = with_shell("n=0; while read -r line; do n=$((n + 1)); echo \"$n $line\"; done");
  EXPECT_EQ(counting.ask("first"), "1 first");
  EXPECT_EQ(counting.ask("second"), "2 second");
}

TEST(Conversation, LinesMayBeLongerThanTheSocketsBuffer) {
  const std::string line(300'000, 'x');
  EXPECT_EQ(with_shell("read -r line; echo \"$line\"").ask(line), line);
}

TEST(Conversation, FurtherLinesMayBeSentBeforeTheAnswerToTheFirst) {
  Conversation echo = with_shell("while read -r line; do echo \"$line\"; done");
  const std::string first(300'000, 'x');
  const std::string second(300'000, 'y');  // the shell first has to get rid of the other line
  echo.send_line(first);
  echo.send_line(second);
  EXPECT_EQ(echo.receive_line(), first);
  EXPECT_EQ(echo.ask("third"), second);
  EXPECT_EQ(echo.receive_line(), "third");
}

TEST(Conversation, AProgramThatEndsInsteadOfAnsweringIsNamedWithItsStatus) {
  EXPECT_THAT(failure(with_shell("read -r line; exit 3")),
              HasSubstr("/bin/sh -c read -r line; exit 3: ended with exit code 3 instead of an answer"));
  EXPECT_THAT(failure(with_shell("kill -9 $$")), HasSubstr("ended with signal 9 (Killed)"));
}

TEST(Conversation, AProcessThatTheProgramLeavesBehindIsNotWaitedFor) {
  Conversation leaving = with_shell("read -r line; exec 2>&-; sleep 1000 & echo $!; exit 3");
  const pid_t left_behind = std::stoi(leaving.ask("hello"));
  EXPECT_THROW(leaving.ask("and now?"), Error);
  EXPECT_EQ(::kill(left_behind, SIGKILL), 0);
}

}  // namespace
}  // namespace thinpipe
