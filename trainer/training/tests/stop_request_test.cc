// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/stop_request.hh"

#include <csignal>
#include <fstream>

#include <gtest/gtest.h>

#include "common/support/tests/temporary_folder.hh"

namespace thinpipe::trainer {
namespace {

TEST(StopRequest, IsMadeBySigtermAndDueAtTheFirstIterationThatIsChosen) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "stop";
  std::ofstream(file) << std::string(16, '\0');
  StopRequest request(file);
  EXPECT_FALSE(request.requested());
  std::raise(SIGTERM);
  EXPECT_TRUE(request.requested());
  EXPECT_FALSE(request.is_due(1000));
  request.stop_after(7);
  request.stop_after(9);  // it is decided
  EXPECT_FALSE(request.is_due(6));
  EXPECT_TRUE(request.is_due(7));
}

}  // namespace
}  // namespace thinpipe::trainer
