// SPDX-License-Identifier: Apache-2.0
#include "harness/terminal/shell_arguments.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const netem::Topology three_hosts = {.name = "t", .hosts = {"w0", "w1", "w2"}};

void expect_refusal(const std::string& first_host, const std::vector<std::string>& words,
                    const std::string& place, const std::string& part_of_message) {
  try {
    parse_shell_arguments(three_hosts, first_host, words);
    ADD_FAILURE() << "accepted";
  } catch (const InputError& error) {
    EXPECT_EQ(error.place().file, place);
    EXPECT_THAT(error.message(), HasSubstr(part_of_message));
  }
}

TEST(ShellArgumentsTest, WithoutWordsIsAShellInTheFirstHost) {
  const auto commands = parse_shell_arguments(three_hosts, "", {});
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0].host, "w0");
  EXPECT_THAT(commands[0].arguments, IsEmpty());
}

TEST(ShellArgumentsTest, WordsAreTakenAsTheyAre) {
  const auto commands = parse_shell_arguments(three_hosts, "w2", {"echo", "[a,b]", "--", "", "--host"});
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0].host, "w2");
  EXPECT_THAT(commands[0].arguments, ElementsAre("echo", "[a,b]", "--", "", "--host"));
}

TEST(ShellArgumentsTest, AndBeginsAnotherHostsCommand) {
  const auto commands = parse_shell_arguments(
      three_hosts, "",
      {"a", "1", "--and", "--host", "w1", "--", "b", "--and", "--host", "w1", "--", "c", "2"});
  ASSERT_EQ(commands.size(), 3U);
  EXPECT_THAT(commands[0].arguments, ElementsAre("a", "1"));
  EXPECT_EQ(commands[1].host, "w1");
  EXPECT_THAT(commands[1].arguments, ElementsAre("b"));
  EXPECT_EQ(commands[2].host, "w1");
  EXPECT_THAT(commands[2].arguments, ElementsAre("c", "2"));
}

TEST(ShellArgumentsTest, RefusesWhatIsWrong) {
  expect_refusal("w11", {}, "--host w11", "did you mean \"w1\"");
  expect_refusal("", {"a", "--and", "--host", "v1", "--", "b"}, "--host v1", "no such host");
  const std::string form = "--and --host NAME -- COMMAND...";
  expect_refusal("", {"a", "--and", "b"}, "--and b", form);
  expect_refusal("", {"a", "--and"}, "--and ", form);
  expect_refusal("", {"a", "--and", "--host", "w1", "b"}, "--and --host w1 b", form);
  expect_refusal("", {"a", "--and", "--host", "w1", "--"}, "--host w1", form);
  expect_refusal("", {"--and", "--host", "w1", "--", "b"}, "--host w0", form);
}

}  // namespace
}  // namespace thinpipe
