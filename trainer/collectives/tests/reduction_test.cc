// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "common/support/exception.hh"
#include "trainer/collectives/reduce_function.hh"

namespace thinpipe::trainer {
namespace {

c10::Half half_of_bits(unsigned bits) {
  return std::bit_cast<c10::Half>(static_cast<std::uint16_t>(bits));
}

void sum_up(torch::ScalarType type, void* into, std::vector<const void*> parts, std::size_t count) {
  reduce_function(type, Reduction::sum)(into, parts, count);
}

// Every half plus every 97th, in the vectorised part and in the tail: the sum must be the half nearest to the
// exact sum.
TEST(Reduction, HalfSumsRoundToNearestEven) {
  constexpr unsigned values = 1U << 16U;
  std::vector<c10::Half> all(values);
  for (unsigned i = 0; i < values; ++i) all[i] = half_of_bits(i);
  std::vector<c10::Half> right(values);
  for (unsigned second = 0; second < values; second += 97) {
    std::vector<c10::Half> left = all;
    std::fill(right.begin(), right.end(), half_of_bits(second));
    // An odd count leaves a tail.
    sum_up(torch::kFloat16, left.data(), {right.data()}, values - 1);
    for (unsigned i = 0; i < values - 1; ++i) {
      const float exact = static_cast<float>(half_of_bits(i)) + static_cast<float>(half_of_bits(second));
      const c10::Half expected(exact);
      if (std::isnan(exact)) {
        ASSERT_TRUE(std::isnan(static_cast<float>(left[i]))) << i << " + " << second;
      } else {
        ASSERT_EQ(std::bit_cast<std::uint16_t>(left[i]), std::bit_cast<std::uint16_t>(expected))
            << i << " + " << second;
      }
    }
  }
}

TEST(Reduction, HalfTiesGoToEven) {
  // Between 2048 and 4096 halves are 2 apart.
  c10::Half into[] = {2048.F, 2050.F, 65504.F};
  const c10::Half from[] = {1.F, 1.F, 16.F};
  sum_up(torch::kFloat16, into, {from}, 3);
  EXPECT_EQ(static_cast<float>(into[0]), 2048.F);
  EXPECT_EQ(static_cast<float>(into[1]), 2052.F);
  EXPECT_EQ(static_cast<float>(into[2]), std::numeric_limits<float>::infinity());
}

TEST(Reduction, BrainFloatTiesGoToEven) {
  // Between 256 and 512 bfloat16s are 2 apart.
  c10::BFloat16 into[] = {256.F, 258.F, 1e38F, 3.3e38F};
  const c10::BFloat16 from[] = {1.F, 1.F, 1.F, 3.3e38F};
  sum_up(torch::kBFloat16, into, {from}, 4);
  EXPECT_EQ(static_cast<float>(into[0]), 256.F);
  EXPECT_EQ(static_cast<float>(into[1]), 260.F);
  EXPECT_EQ(into[2], c10::BFloat16(1e38F));
  EXPECT_EQ(static_cast<float>(into[3]), std::numeric_limits<float>::infinity());
}

// Added one at a time, each part would be lost: halves between 2048 and 4096 are 2 apart, and so are
// bfloat16s between 256 and 512.
TEST(Reduction, ASumOfSeveralRoundsOnce) {
  for (const std::size_t place : {0, 9, 4100}) {
    std::vector<c10::Half> halves(4101, 1.F);
    std::vector<c10::BFloat16> brain_floats(4101, 1.F);
    const std::vector<c10::Half> half_part = halves;
    const std::vector<c10::BFloat16> brain_float_part = brain_floats;
    halves[place] = 2048.F;
    brain_floats[place] = 256.F;
    sum_up(torch::kFloat16, halves.data(), {half_part.data(), half_part.data()}, halves.size());
    sum_up(torch::kBFloat16, brain_floats.data(), {brain_float_part.data(), brain_float_part.data()},
           brain_floats.size());
    for (std::size_t i = 0; i < halves.size(); ++i) {
      ASSERT_EQ(static_cast<float>(halves[i]), i == place ? 2050.F : 3.F) << i;
      ASSERT_EQ(static_cast<float>(brain_floats[i]), i == place ? 258.F : 3.F) << i;
    }
  }
}

TEST(Reduction, SeveralAreTakenInTheirOrder) {
  std::vector<float> sum = {1e8F};
  const float first = -1e8F;
  const float second = 1.F;
  sum_up(torch::kFloat32, sum.data(), {&first, &second}, 1);
  EXPECT_EQ(sum[0], 1.F);
  sum = {1e8F};
  sum_up(torch::kFloat32, sum.data(), {&second, &first}, 1);
  EXPECT_EQ(sum[0], 0.F);
  reduce_function(torch::kFloat32, Reduction::max)(sum.data(), std::vector<const void*>{&first, &second}, 1);
  EXPECT_EQ(sum[0], 1.F);
}

TEST(Reduction, IntegerSumsWrap) {
  std::int8_t bytes[] = {127, -128, 100};
  const std::int8_t more_bytes[] = {1, -1, 27};
  sum_up(torch::kInt8, bytes, {more_bytes}, 3);
  EXPECT_EQ(bytes[0], -128);
  EXPECT_EQ(bytes[1], 127);
  EXPECT_EQ(bytes[2], 127);
  std::int64_t wide[] = {std::numeric_limits<std::int64_t>::max()};
  const std::int64_t one[] = {1};
  sum_up(torch::kInt64, wide, {one}, 1);
  EXPECT_EQ(wide[0], std::numeric_limits<std::int64_t>::min());
}

TEST(Reduction, NamesTheTypesItTakes) {
  try {
    reduce_function(torch::kFloat64, Reduction::sum);
    FAIL() << "accepted float64";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "all_reduce takes float32, float16, bfloat16, int8, int32 or int64, but was given Double");
  }
}

}  // namespace
}  // namespace thinpipe::trainer
