// SPDX-License-Identifier: Apache-2.0
// Queueing disciplines as the kernel describes them, one by one.
#include "netem/kernel/qdisc.hh"

#include <array>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netlink/route/tc.h>

#include "netem/kernel/fair_queue.hh"
#include "netem/kernel/link.hh"
#include "netem/kernel/network_namespace.hh"
#include "netem/kernel/token_bucket.hh"

namespace thinpipe::netem {
namespace {

constexpr std::uint32_t shaper_handle = TC_HANDLE(1, 0);
constexpr std::uint32_t queue_handle = TC_HANDLE(2, 0);

LinkShape shape_with_cap(double rate_bit_per_s) {
  return link_shape_of({.rate_bit_per_s = rate_bit_per_s});
}

// The loopback device of a namespace of its own, capped, with a fair queue.
class QdiscTest : public testing::Test {
 protected:
  QdiscTest() {
    namespace_.run([this] { socket_.emplace(); });
    const LinkShape shape = shape_with_cap(100e6);
    put(*socket_, Edit::add, "shape", new_token_bucket(loopback_ifindex, shaper_handle, shape));
    put_fair_queue(*socket_, Edit::add, "queue",
                   {.ifindex = loopback_ifindex,
                    .parent = inside(shaper_handle),
                    .handle = queue_handle,
                    .queue_bytes = shape.queue_bytes,
                    .turn_bytes = shape.burst_bytes});
  }

  NetworkNamespace namespace_;
  std::optional<NetlinkSocket> socket_;
};

TEST_F(QdiscTest, AreReadInTheOrderAskedFor) {
  std::vector<QdiscId> ids;  // more than one batch
  for (int i = 0; i < 20; ++i) {
    ids.push_back({loopback_ifindex, queue_handle});
    ids.push_back({loopback_ifindex, shaper_handle});
  }
  const std::vector<QdiscReply> read = read_qdiscs(*socket_, ids);
  ASSERT_EQ(read.size(), 40U);
  for (std::size_t i = 0; i < read.size(); i += 2) {
    EXPECT_EQ(read[i].kind, "htb");
    EXPECT_EQ(read[i + 1].kind, "tbf");
    EXPECT_EQ(rate_bytes_per_s(read[i + 1]), 12.5e6);
    EXPECT_EQ(read[i + 1].bytes, 0U);
  }
}

TEST_F(QdiscTest, AreEmptyIfTheKernelHasNone) {
  const std::array ids = {QdiscId{loopback_ifindex, TC_HANDLE(7, 0)}, QdiscId{77, shaper_handle},
                          QdiscId{loopback_ifindex, shaper_handle}};
  const std::vector<QdiscReply> read = read_qdiscs(*socket_, ids);
  EXPECT_EQ(read.at(0).kind, "") << "no such handle";
  EXPECT_EQ(read.at(1).kind, "") << "no such device";
  EXPECT_EQ(read.at(2).kind, "tbf") << "answers stay in step";
}

TEST_F(QdiscTest, TheSocketStillAnswersOtherRequests) {
  const QdiscId id{loopback_ifindex, shaper_handle};
  EXPECT_EQ(read_qdiscs(*socket_, {&id, 1}).front().kind, "tbf");
  EXPECT_NO_THROW(put(*socket_, Edit::change, "reshape",
                      new_token_bucket(loopback_ifindex, shaper_handle, shape_with_cap(200e6))));
  EXPECT_EQ(rate_bytes_per_s(read_qdiscs(*socket_, {&id, 1}).front()), 25e6);
}

}  // namespace
}  // namespace thinpipe::netem
