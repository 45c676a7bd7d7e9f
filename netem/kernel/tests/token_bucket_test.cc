// SPDX-License-Identifier: Apache-2.0
// The token bucket that the kernel holds, read back from it.
#include "netem/kernel/token_bucket.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netlink/route/qdisc/tbf.h>

#include "netem/kernel/link.hh"
#include "netem/kernel/network_namespace.hh"

namespace thinpipe::netem {
namespace {

LinkShape shape_at(double rate_bit_per_s) {
  return link_shape_of({.rate_bit_per_s = rate_bit_per_s});
}

// Gives a device this shape, and returns what the kernel then holds.
OwnedQdisc in_kernel(const LinkShape& shape) {
  constexpr std::uint32_t handle = TC_HANDLE(1, 0);
  OwnedQdisc held;
  NetworkNamespace().run([&] {
    const NetlinkSocket socket;
    put(socket, Edit::add, "shape a device", new_token_bucket(loopback_ifindex, handle, shape));
    nl_cache* filled = nullptr;
    netlink_call("list qdiscs", rtnl_qdisc_alloc_cache(socket.get(), &filled));
    const OwnedCache cache(filled);
    held = OwnedQdisc(rtnl_qdisc_get(cache.get(), loopback_ifindex, handle));
  });
  return held;
}

TEST(TokenBucketTest, AddsAPeakRateWhereTheCreditExceedsTheBurst) {
  const OwnedQdisc held = in_kernel(shape_at(1e9));
  EXPECT_EQ(rtnl_qdisc_tbf_get_rate(held.get()), 125'000'000);
  EXPECT_NEAR(rtnl_qdisc_tbf_get_rate_bucket(held.get()), 31250, 251);
  EXPECT_EQ(rtnl_qdisc_tbf_get_peakrate(held.get()), 131'250'000);
  EXPECT_NEAR(held_burst_bytes(held), 12500, 264);
  EXPECT_NO_THROW(check_credit(held, "a->b", shape_at(1e9)));
}

TEST(TokenBucketTest, HasOneBucketWhereTheBurstIsLong) {
  const OwnedQdisc held = in_kernel(shape_at(100e6));
  EXPECT_LE(rtnl_qdisc_tbf_get_peakrate(held.get()), 0);
  EXPECT_NEAR(held_burst_bytes(held), 4000, 26);
  EXPECT_NO_THROW(check_credit(held, "a->b", shape_at(100e6)));
}

TEST(TokenBucketTest, SeesAnotherCreditAndAnotherPeakRate) {
  const auto message_of = [](const OwnedQdisc& held, const LinkShape& asked) -> std::string {
    try {
      check_credit(held, "a->b", asked);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  LinkShape longer = shape_at(1e9);
  longer.burst_bytes = 50000;
  EXPECT_THAT(
      message_of(in_kernel(longer), shape_at(1e9)),
      testing::HasSubstr("shape a->b: asked for a credit of 31250 bytes and a peak rate of 131250000"));
  EXPECT_THAT(message_of(in_kernel(shape_at(1e9)), longer), testing::HasSubstr("credit of 50000 bytes"));
}

TEST(TokenBucketTest, RoundsByTwoMicrosecondsAtMost) {
  EXPECT_TRUE(is_held_bucket(31250, 31000, 1e9));
  EXPECT_FALSE(is_held_bucket(31250, 30900, 1e9));
  EXPECT_FALSE(is_held_bucket(31250, 31300, 1e9));
}

}  // namespace
}  // namespace thinpipe::netem
