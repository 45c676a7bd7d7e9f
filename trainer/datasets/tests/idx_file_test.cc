// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/idx_file.hh"

#include <gtest/gtest.h>

#include "trainer/datasets/tests/directory.hh"

namespace thinpipe::trainer {
namespace {

using IdxFile = DirectoryTest;

TEST_F(IdxFile, ReadsPlainAndCompressedFiles) {
  const torch::Tensor expected = torch::arange(6).to(torch::kUInt8).view({2, 3});
  // 2 x 3: 0 1 2 / 3 4 5.
  const std::string matrix("\0\0\x08\x02\0\0\0\x02\0\0\0\x03\x00\x01\x02\x03\x04\x05", 18);
  EXPECT_TRUE(read_idx(write("plain", matrix), 2).equal(expected));
  EXPECT_TRUE(read_idx(write_compressed("compressed", matrix), 2).equal(expected));
}

TEST_F(IdxFile, ReadsAnEmptyArray) {
  EXPECT_EQ(read_idx(write("empty", std::string("\0\0\x08\x01\0\0\0\0", 8)), 1).numel(), 0);
}

}  // namespace
}  // namespace thinpipe::trainer
