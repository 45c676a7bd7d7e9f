// SPDX-License-Identifier: Apache-2.0
#include "harness/run/network/link_meter.hh"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

netem::LinkCounters counters(std::uint64_t bytes) {
  netem::LinkCounters out;
  out.bytes = bytes;
  return out;
}

// An unsigned difference of a restarted counter would be exabytes, and link use 10^14 %.
TEST(BytesBetween, AreNoneIfTheCounterBeganAgain) {
  EXPECT_EQ(bytes_between(counters(1000), counters(1500)), 500U);
  EXPECT_EQ(bytes_between(counters(1000), counters(1000)), 0U);
  EXPECT_EQ(bytes_between(counters(1000), counters(0)), std::nullopt);
}

}  // namespace
}  // namespace thinpipe
