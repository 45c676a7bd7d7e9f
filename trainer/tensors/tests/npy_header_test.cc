// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/npy_header.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/exception.hh"
#include "trainer/tensors/tests/npy_file.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::npy;
using testing::npy_of_literal;

NpyHeader read_npy(const std::string& bytes) {
  return read_npy_header(std::string_view(bytes).substr(0, npy_beginning_bytes), bytes.size(), "x.npy");
}

std::string npy_refusal(const std::string& bytes) {
  try {
    read_npy(bytes);
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("x.npy"));
    return error.what();
  }
  return "accepted";
}

TEST(NpyHeader, HasTypeShapeAndPlace) {
  const NpyHeader header = read_npy(npy("<f4", "(2, 3)", std::string(24, '\0')));
  EXPECT_EQ(header.type, "f4");
  EXPECT_THAT(header.shape, ElementsAre(2, 3));
  EXPECT_EQ(header.elements_begin, 128);
  EXPECT_EQ(header.elements_bytes, 24);
  EXPECT_THAT(read_npy(npy("|u1", "()", "x")).shape, ElementsAre());
  EXPECT_THAT(read_npy(npy("|i1", "(3,)", "xyz")).shape, ElementsAre(3));
  EXPECT_THAT(read_npy(npy("<i8", "(0, 7)", "")).shape, ElementsAre(0, 7));
}

TEST(NpyHeader, MayHaveEveryVersionAndSpelling) {
  const std::string other = R"({"shape":(2,),"fortran_order":False,"descr":"<i2"})";
  for (const char version : {'\x01', '\x02', '\x03'}) {
    EXPECT_EQ(read_npy(npy_of_literal(other, "abcd", version)).type, "i2") << int{version};
  }
  EXPECT_THAT(npy_refusal(npy_of_literal(other, "abcd", '\x04')), HasSubstr("has version 4.0"));
}

TEST(NpyHeader, NoticesEveryTruncationAndExcess) {
  const std::string bytes = npy("<f4", "(2,)", "12345678");
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_NE(npy_refusal(bytes.substr(0, length)), "accepted") << length;
  }
  EXPECT_THAT(npy_refusal(bytes.substr(0, bytes.size() - 1)),
              HasSubstr("is truncated: 7 bytes of elements, but its header claims 8"));
  EXPECT_THAT(npy_refusal(bytes + "x"), HasSubstr("is too long: 9 bytes"));
}

struct Wrong {
  std::string literal;
  std::string message;
};

class NpyLiteral : public ::testing::TestWithParam<Wrong> {};

TEST_P(NpyLiteral, IsRefused) {
  EXPECT_THAT(npy_refusal(npy_of_literal(GetParam().literal, "abcd")), HasSubstr(GetParam().message));
}

std::string with(const std::string& descr, const std::string& order, const std::string& shape) {
  return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + "}";
}

INSTANTIATE_TEST_SUITE_P(
    Header, NpyLiteral,
    ::testing::Values(
        Wrong{with("'>f4'", "False", "(1,)"), "has big-endian elements (>f4); save array.astype('<f4')"},
        Wrong{with("'<u2'", "False", "(2,)"), "has elements of type <u2; supported are u1"},
        Wrong{with("'|O'", "False", "(2,)"), "has elements of type |O"},
        Wrong{with("'|i2'", "False", "(2,)"), "has elements of type |i2"},
        Wrong{with("'|b1'", "False", "(4,)"), "has elements of type |b1"},
        Wrong{with("[('a', '<f4')]", "False", "(1,)"), "has elements of several fields"},
        Wrong{with("'<f4'", "True", "(1,)"), "is in Fortran order; save numpy.ascontiguousarray(array)"},
        Wrong{with("'<f4'", "0", "(1,)"), "neither True nor False"},
        Wrong{with("'<f4'", "False", "(1)"), "shape that is not a tuple"},
        Wrong{with("'<f4'", "False", "[1]"), "has no ("},
        Wrong{with("'<f4'", "False", "(-1,)"), "not of nonnegative integers"},
        Wrong{with("'<f4'", "False", "(1.0,)"), "without commas"},
        Wrong{with("'<f4'", "False", "(01,)"), "begins with 0"},
        Wrong{with("'<f4'", "False", "(1 1)"), "without commas"},
        Wrong{with("'<f4'", "False", "(,)"), "not of nonnegative integers"},
        Wrong{with("'<f4'", "False", "(4611686018427387904, 4)"), "an array that is too large"},
        Wrong{with("'<f4'", "False", "(0, 4611686018427387904, 4)"), "an array that is too large"},
        Wrong{with("'<f4'", "False", "(99999999999999999999,)"), "too large"},
        Wrong{with("'<f4", "False", "(1,)"), "has no }"},
        Wrong{with("'\\\\x3cf4'", "False", "(1,)"), "escape sequence"},
        Wrong{"{'descr': '<f4', 'fortran_order': False}", "lacks one of"},
        Wrong{"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
              "the key descr twice"},
        Wrong{"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", "unknown key"},
        Wrong{with("'<f4'", "False", "(1,)") + "}", "goes on after its dict"},
        Wrong{"__import__('os').abort()", "has no {"}, Wrong{"", "has no {"}));

TEST(NpyHeader, ThatIsLongIsRefusedUnread) {
  const std::string literal = with("'<f4'", "False", "(1,)") + std::string(40000, ' ');
  EXPECT_THAT(npy_refusal(npy_of_literal(literal, "abcd", 2)), HasSubstr("too long for an array of numbers"));
  EXPECT_THAT(npy_refusal("GIF89a, which is something else"), HasSubstr("is not a .npy file of NumPy"));
}

}  // namespace
}  // namespace thinpipe::trainer
