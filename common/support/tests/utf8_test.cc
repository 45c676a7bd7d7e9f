// SPDX-License-Identifier: Apache-2.0
#include "common/support/utf8.hh"

#include <cstddef>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

struct Utf8Case {
  std::string text;
  std::optional<std::size_t> invalid_at;
};

class Utf8 : public ::testing::TestWithParam<Utf8Case> {};

TEST_P(Utf8, IsToldFromOtherBytes) {
  EXPECT_EQ(find_invalid_utf8(GetParam().text), GetParam().invalid_at);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, Utf8,
    ::testing::Values(
        Utf8Case{"", {}}, Utf8Case{"plain", {}}, Utf8Case{std::string("\0", 1), {}},
        Utf8Case{"\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", {}},
        Utf8Case{"\xed\x9f\xbf\xee\x80\x80", {}},                                    // around the surrogates
        Utf8Case{"ab\x80", 2},                                                       // a stray continuation
        Utf8Case{"a\xc3", 1}, Utf8Case{"\xe2\x82", 0}, Utf8Case{"\xf0\x9f\x98", 0},  // cut short
        Utf8Case{"\xc1\xbf", 0}, Utf8Case{"\xe0\x9f\xbf", 0}, Utf8Case{"\xf0\x8f\xbf\xbf", 0},  // overlong
        Utf8Case{"\xed\xa0\x80", 0},                                                            // a surrogate
        Utf8Case{"\xf4\x90\x80\x80", 0}, Utf8Case{"\xf5\x80\x80\x80", 0},  // above U+10FFFF
        Utf8Case{"caf\xe9", 3},                                            // Latin-1
        Utf8Case{"\xe2\x82\x28", 0}, Utf8Case{"\xff\xfe", 0}));

TEST(Printable, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(printable("plain, \xc3\xbc and \xf0\x9f\x98\x80"), "plain, \xc3\xbc and \xf0\x9f\x98\x80");
  EXPECT_EQ(printable("\x1b[2J\a\x7f"), "\\u001b[2J\\u0007\\u007f");
  EXPECT_EQ(printable("a\nb\tc\r"), "a\\nb\\tc\\r");
  EXPECT_EQ(printable(std::string("\0", 1)), "\\u0000");
  EXPECT_EQ(printable("\xc2\x9b"), "\\u009b");
  EXPECT_EQ(printable("\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x9c"), "\\u202e\\u2066\xe2\x80\x9c");
  EXPECT_EQ(printable("caf\xe9"), "caf\\xe9");
}

TEST(FirstCharacters, NeverCutOneInTheMiddle) {
  EXPECT_EQ(first_characters("a▂é", 0), "");
  EXPECT_EQ(first_characters("a▂é", 2), "a▂");
  EXPECT_EQ(first_characters("a▂é", 3), "a▂é");
  EXPECT_EQ(first_characters("a▂é", 4), "a▂é");
  EXPECT_EQ(first_characters("\xe2\x96z", 2), "\xe2\x96");
}

}  // namespace
}  // namespace thinpipe
