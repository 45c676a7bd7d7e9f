// SPDX-License-Identifier: Apache-2.0
#include "common/support/table.hh"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(Table, AlignsTheFirstColumnLeftAndTheOthersRight) {
  EXPECT_EQ(format_table({"method", "n"}, {{"a", "100"},
                                           {"gr\xC3\xB6\xC3\x9F"
                                            "er",
                                            "5"}}),
            "method    n\n"
            "a       100\n"
            "gr\xC3\xB6\xC3\x9F"
            "er    5\n");
}

}  // namespace
}  // namespace thinpipe
