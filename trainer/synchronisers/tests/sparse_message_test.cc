#include "trainer/synchronisers/sparse_message.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer {
namespace {

const SparseHeader header{.method = 1, .bucket = 2, .step = 3, .n = 5, .count = 2};
const std::vector<std::uint32_t> indices = {0, 4};
const std::vector<float> dense = {1.5F, 0, 0, 0, -2};

TEST(SparseMessage, HasTheDocumentedLayout) {
  const torch::Tensor message = encode_sparse(header, indices, dense);
  const std::vector<std::uint8_t> bytes(message.data_ptr<std::uint8_t>(),
                                        message.data_ptr<std::uint8_t>() + message.numel());
  const std::vector<std::uint8_t> expected = {0x50, 0x74, 1,    1,    2, 0, 0, 0,   3, 0,
                                              0,    0,    5,    0,    0, 0, 2, 0,   0, 0,  // header
                                              0,    0,    0,    0,    4, 0, 0, 0,          // indices
                                              0,    0,    0xC0, 0x3F, 0, 0, 0, 0xC0};      // 1.5 and -2
  EXPECT_EQ(bytes, expected);
}

TEST(SparseMessage, AddsWhatItCarries) {
  std::vector<float> sum = {1, 1, 1, 1, 1};
  add_sparse(encode_sparse(header, indices, dense), header, sum);
  EXPECT_THAT(sum, ::testing::ElementsAre(2.5F, 1, 1, 1, -1));
}

TEST(SparseMessage, RefusesAnotherStepAnotherBucketAndAShortMessage) {
  std::vector<float> sum(5);
  const torch::Tensor message = encode_sparse(header, indices, dense);
  SparseHeader other = header;
  other.step = 4;
  EXPECT_THROW(add_sparse(message, other, sum), CollectiveError);
  other = header;
  other.bucket = 0;
  EXPECT_THROW(add_sparse(message, other, sum), CollectiveError);
  EXPECT_THROW(add_sparse(message.narrow(0, 0, message.numel() - 4), header, sum), CollectiveError);
  EXPECT_THROW(add_sparse(torch::zeros({3}, torch::kByte), header, sum), CollectiveError);
}

TEST(SparseMessage, RefusesAnIndexOutsideTheBucket) {
  torch::Tensor message = encode_sparse(header, indices, dense);
  message[24] = 5;  // the second index
  std::vector<float> sum(5);
  EXPECT_THROW(add_sparse(message, header, sum), CollectiveError);
}

}  // namespace
}  // namespace thinpipe::trainer
