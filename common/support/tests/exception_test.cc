// SPDX-License-Identifier: Apache-2.0
#include "common/support/exception.hh"

#include <cerrno>

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(Place, NamesFileAndEscapedPointer) {
  const Place place = Place{"a.json", ""} / "sweep" / "50 % / half~" / std::size_t{2};
  EXPECT_EQ(place.pointer, "/sweep/50 % ~1 half~0/2");
  EXPECT_STREQ(InputError(place, "must be above 0").what(),
               "a.json at /sweep/50 % ~1 half~0/2: must be above 0");
}

TEST(Place, TheWholeDocumentHasNoPointer) {
  EXPECT_STREQ(InputError({"a.json", ""}, "is empty").what(), "a.json: is empty");
}

TEST(SystemCall, ThrowsWithAttemptAndReason) {
  errno = ENOENT;
  try {
    system_call("open /x", -1);
    FAIL() << "did not throw";
  } catch (const SystemError& error) {
    EXPECT_STREQ(error.what(), "open /x: No such file or directory");
    EXPECT_EQ(error.code().value(), ENOENT);
  }
}

TEST(SystemCall, PassesResultsThrough) {
  EXPECT_EQ(system_call("count", 7), 7);
  EXPECT_EQ(system_call("count", 1L << 40), 1L << 40);
}

}  // namespace
}  // namespace thinpipe
