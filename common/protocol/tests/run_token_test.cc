// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/run_token.hh"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/exception.hh"

namespace thinpipe {
namespace {

class RunTokens : public testing::Test {
 protected:
  ~RunTokens() override { ::unsetenv(run_token_variable); }
};

TEST_F(RunTokens, PassThroughTheEnvironment) {
  EXPECT_EQ(run_token_of_environment(), std::nullopt);
  const RunToken token = random_run_token();
  ::setenv(run_token_variable, text_of(token).c_str(), 1);
  EXPECT_EQ(run_token_of_environment(), token);
  EXPECT_NE(random_run_token(), token);
}

TEST_F(RunTokens, AreRefusedWithoutBeingShown) {
  for (const char* const text :
       {"", "abcd", "0123456789abcdef0123456789abcdeg", "0123456789abcdef0123456789abcdef0",
        "+123456789abcdef0123456789abcdef", " 123456789abcdef0123456789abcdef"}) {
    ::setenv(run_token_variable, text, 1);
    try {
      run_token_of_environment();
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()), "read THINPIPE_RUN_TOKEN: it must have 32 hexadecimal digits");
    }
  }
}

}  // namespace
}  // namespace thinpipe
