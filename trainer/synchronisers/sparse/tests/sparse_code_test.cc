// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/sparse_code.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/collective_error.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;

constexpr SparseHeader small_header{.method = 1, .bucket = 2, .step = 3, .n = 5};
const std::vector<std::uint32_t> small_indices = {0, 4};
const std::vector<float> small_dense = {1.5F, 9, 9, 9, -2};

std::vector<std::uint8_t> small_message(const std::string& index_code) {
  return make_plain_sparse_code(index_code)->encode(small_header, 0, small_indices, small_dense);
}

TEST(SparseCode, HasTheDocumentedLayout) {
  EXPECT_THAT(small_message("u32"),
              ElementsAre(0x50, 0x74, 1, 2, 2, 0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0,  // header
                          0, 0, 0, 0, 4, 0, 0, 0,                                            // indices
                          0, 0, 0xC0, 0x3F, 0, 0, 0, 0xC0));                                 // 1.5 and -2
}

TEST(SparseCode, IsAsLongAsItSays) {
  const std::vector<std::pair<std::string, std::int64_t>> index_bytes = {
      {"u32", 8}, {"u16", 4 + 4}, {"bitmap", 1}};
  for (const auto& [name, bytes] : index_bytes) {
    const auto code = make_plain_sparse_code(name);
    EXPECT_TRUE(code->has_fixed_size());
    EXPECT_EQ(code->message_bytes(5, 2), 20 + bytes + 8) << name;
    EXPECT_EQ(small_message(name).size(), 20 + bytes + 8) << name;
  }
  const auto golomb = make_plain_sparse_code("golomb");
  EXPECT_FALSE(golomb->has_fixed_size());
  EXPECT_LE(std::ssize(small_message("golomb")), golomb->message_bytes(5, 2));
}

TEST(SparseCode, AddsAndTakesAwayWhatItCarries) {
  for (const std::string& name : index_code_names()) {
    const auto code = make_plain_sparse_code(name);
    std::vector<float> sum = {1, 1, 1, 1, 1};
    code->add(small_message(name), small_header, 0, 2, sum);
    EXPECT_THAT(sum, ElementsAre(4, 1, 1, 1, -3)) << name;
    sum = small_dense;
    code->add(small_message(name), small_header, 0, -1, sum);
    EXPECT_THAT(sum, ElementsAre(0, 9, 9, 9, 0)) << name;
  }
}

TEST(SparseCode, CarriesNothing) {
  for (const std::string& name : index_code_names()) {
    const auto code = make_plain_sparse_code(name);
    std::vector<float> sum = {1, 1, 1, 1, 1};
    code->add(code->encode(small_header, 0, {}, small_dense), small_header, 0, 1, sum);
    EXPECT_THAT(sum, ElementsAre(1, 1, 1, 1, 1)) << name;
  }
}

class RefusedMessage : public ::testing::Test {
 protected:
  static void expect_refused(std::span<const std::uint8_t> message,
                             const SparseHeader& expected = small_header) {
    std::vector<float> sum(5);
    EXPECT_THROW(make_plain_sparse_code("u32")->add(message, expected, 0, 1, sum), CollectiveError);
  }

  static std::vector<std::uint8_t> with_byte(std::size_t at, std::uint8_t value) {
    std::vector<std::uint8_t> message = small_message("u32");
    message[at] = value;
    return message;
  }
};

TEST_F(RefusedMessage, OfAnotherStepBucketMethodOrSize) {
  for (const SparseHeader& other : {SparseHeader{.method = 2, .bucket = 2, .step = 3, .n = 5},
                                    SparseHeader{.method = 1, .bucket = 0, .step = 3, .n = 5},
                                    SparseHeader{.method = 1, .bucket = 2, .step = 4, .n = 5},
                                    SparseHeader{.method = 1, .bucket = 2, .step = 3, .n = 6}}) {
    expect_refused(small_message("u32"), other);
  }
}

TEST_F(RefusedMessage, WithAnotherMagicOrVersion) {
  expect_refused(with_byte(0, 0x51));
  expect_refused(with_byte(3, 1));
}

TEST_F(RefusedMessage, ThatEndsTooEarlyOrTooLate) {
  std::vector<std::uint8_t> message = small_message("u32");
  for (const std::size_t bytes : {0, 3, 19, 20, 27, 28, 35}) expect_refused(std::span(message).first(bytes));
  message.push_back(0);
  expect_refused(message);
}

TEST_F(RefusedMessage, WithMoreEntriesThanTheBucketOrOneOutsideIt) {
  expect_refused(with_byte(16, 6));  // the count
  expect_refused(with_byte(24, 5));  // the second index
  expect_refused(with_byte(24, 0));  // the same as the first
}

}  // namespace
}  // namespace thinpipe::trainer
