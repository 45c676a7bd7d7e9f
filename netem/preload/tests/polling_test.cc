// SPDX-License-Identifier: Apache-2.0
// With polling.cc in the program itself, so that its functions take the place of the C library's here too.
#include <array>

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/support/file_descriptor.hh"

namespace {
int yields = 0;
}  // namespace

extern "C" int sched_yield() {
  ++yields;
  return 0;
}

namespace thinpipe::netem {
namespace {

class Polling : public testing::Test {
 protected:
  Polling() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    own_ = FileDescriptor(ends[0]);
    other_ = FileDescriptor(ends[1]);
    epoll_event wanted{.events = EPOLLIN, .data = {}};
    EXPECT_EQ(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, own_.get(), &wanted), 0);
    EXPECT_EQ(::write(other_.get(), "abcd", 4), 4);
    yields = 0;
  }

  int poll() {
    epoll_event event{};
    return ::epoll_wait(epoll_.get(), &event, 1, 0);
  }

  FileDescriptor epoll_{::epoll_create1(EPOLL_CLOEXEC)};
  FileDescriptor own_;
  FileDescriptor other_;
  char byte_ = 0;
};

TEST_F(Polling, AThreadThatLeavesAMessageLetsOthersRunBeforeItPollsAgain) {
  EXPECT_EQ(poll(), 1);
  EXPECT_EQ(yields, 0) << "the first time it could not know";
  EXPECT_EQ(poll(), 1);
  EXPECT_EQ(poll(), 1);
  EXPECT_EQ(yields, 2);
}

TEST_F(Polling, AThreadThatReceivesOrSendsPollsAtOnce) {
  EXPECT_EQ(poll(), 1);
  EXPECT_EQ(::recv(own_.get(), &byte_, 1, 0), 1);
  EXPECT_EQ(byte_, 'a');
  EXPECT_EQ(poll(), 1);
  EXPECT_EQ(::read(own_.get(), &byte_, 1), 1);
  EXPECT_EQ(byte_, 'b');
  EXPECT_EQ(poll(), 1);
  EXPECT_EQ(::send(own_.get(), &byte_, 1, 0), 1);
  EXPECT_EQ(poll(), 1);
  const iovec part{.iov_base = &byte_, .iov_len = 1};
  EXPECT_EQ(::writev(own_.get(), &part, 1), 1);
  EXPECT_EQ(poll(), 1);
  EXPECT_EQ(yields, 0);
}

TEST_F(Polling, AThreadThatGetsNoEventsPollsAtOnce) {
  EXPECT_EQ(::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, own_.get(), nullptr), 0);
  EXPECT_EQ(poll(), 0);
  EXPECT_EQ(poll(), 0);
  EXPECT_EQ(yields, 0);
}

}  // namespace
}  // namespace thinpipe::netem
