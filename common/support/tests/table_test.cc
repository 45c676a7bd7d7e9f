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

TEST(FormatBytes, KeepsThreeDigits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1000), "1.00 kB");
  EXPECT_EQ(format_bytes(82.14e6), "82.1 MB");
  EXPECT_EQ(format_bytes(999.9e6), "1.00 GB");
}

}  // namespace
}  // namespace thinpipe
