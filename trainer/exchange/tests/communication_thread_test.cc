// SPDX-License-Identifier: Apache-2.0
#include "trainer/exchange/communication_thread.hh"

#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

TEST(CommunicationThread, WorksInOrderWhateverTheOrderOfRelease) {
  std::vector<std::size_t> done;
  CommunicationThread thread([&](std::size_t job) { done.push_back(job); });
  for (int round = 0; round < 100; ++round) {
    done.clear();
    thread.begin(4);
    for (const std::size_t job : {2, 0, 3, 1}) thread.release(job);
    thread.drain();
    ASSERT_THAT(done, ::testing::ElementsAre(0, 1, 2, 3));
  }
}

TEST(CommunicationThread, HandsAJobsFailureToWhoeverDrains) {
  CommunicationThread thread([](std::size_t job) {
    if (job == 1) throw std::runtime_error("job 1 failed");
  });
  thread.begin(3);
  for (const std::size_t job : {0, 1, 2}) thread.release(job);
  EXPECT_THROW(thread.drain(), std::runtime_error);
}

TEST(CommunicationThread, EndsWithJobsThatWereNeverReleased) {
  CommunicationThread thread([](std::size_t) { FAIL() << "no job was released"; });
  thread.begin(2);
}

TEST(CommunicationThread, ARoundWithoutJobsIsDrainedAtOnce) {
  CommunicationThread thread([](std::size_t) { FAIL() << "there is no job"; });
  thread.begin(0);
  thread.drain();
}

}  // namespace
}  // namespace thinpipe::trainer
