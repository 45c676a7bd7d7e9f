// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/deepreduce/value_code.hh"

#include <algorithm>
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/collective_error.hh"
#include "trainer/synchronisers/deepreduce/polynomial_fit.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::IsEmpty;

double largest_error(std::span<const float> a, std::span<const float> b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
  return largest;
}

std::vector<std::uint8_t> written(const std::string& code, const std::vector<float>& values) {
  std::vector<std::uint8_t> out;
  make_value_code(code)->append(values, {.seed = 1}, out);
  return out;
}

std::vector<float> there_and_back(const std::string& code, const std::vector<float>& values) {
  std::vector<float> out(values.size());
  make_value_code(code)->read(written(code, values), out);
  return out;
}

// Values like those of gradients that topk chose: none near zero.
std::vector<float> descending_values(std::size_t positive, std::size_t negative) {
  std::mt19937 random(13);
  std::exponential_distribution<float> magnitude(100);
  std::vector<float> values;
  for (std::size_t i = 0; i < positive; ++i) values.push_back(0.05F + magnitude(random));
  for (std::size_t i = 0; i < negative; ++i) values.push_back(-0.05F - magnitude(random));
  std::ranges::sort(values, std::greater());
  return values;
}

TEST(PolynomialFit, GivesBackAPolynomialOfItsDegree) {
  std::vector<float> curve(1000);
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const double t = static_cast<double>(i) / 500 - 1;
    curve[i] = static_cast<float>(3 - 2 * t + t * t * t - 0.5 * std::pow(t, 5));
  }
  std::vector<float> fitted(curve.size());
  evaluate_polynomial(fit_polynomial(curve, 5), fitted);
  EXPECT_LT(largest_error(fitted, curve), 5e-6);
}

TEST(PolynomialFit, GoesThroughAsFewPointsAsItHasCoefficients) {
  const std::vector<float> curve = {5, 3, -1, -1.5F, -8, -8.25F};
  for (std::size_t points = 1; points <= curve.size(); ++points) {
    std::vector<float> fitted(points);
    evaluate_polynomial(fit_polynomial(std::span(curve).first(points), static_cast<int>(points) - 1), fitted);
    EXPECT_LT(largest_error(fitted, std::span(curve).first(points)), 1e-5) << points;
  }
}

// The least-squares line through (0, 0), (1, 1) and (2, 5) is 2.5 x - 0.5.
TEST(PolynomialFit, IsOfLeastSquares) {
  std::vector<float> fitted(3);
  evaluate_polynomial(fit_polynomial(std::vector<float>{0, 1, 5}, 1), fitted);
  EXPECT_THAT(fitted, ElementsAre(FloatNear(-0.5F, 1e-6F), FloatNear(2, 1e-6F), FloatNear(4.5F, 1e-6F)));
}

TEST(Knots, LieFarthestFromTheChord) {
  // Two straight lines that meet at 6, which is the first point of the second piece.
  std::vector<float> curve = {20, 18, 16, 14, 12, 10, 8, 7, 6, 5, 4, 3, 2};
  EXPECT_THAT(split_at_knots(curve, 2, 2), ElementsAre(6, 7));
  EXPECT_THAT(split_at_knots(curve, 8, 2), ElementsAre(6, 7)) << "straight lines are not split";
  EXPECT_THAT(split_at_knots(curve, 1, 2), ElementsAre(13));
  EXPECT_THAT(split_at_knots(curve, 8, 7), ElementsAre(13)) << "13 points cannot be split into two "
                                                               "parts of 7";
}

// The next knot is not always where the fit is worst, but more knots never make it worse.
TEST(Knots, MakeTheFitCloser) {
  const std::vector<float> curve = descending_values(5000, 0);
  std::vector<double> errors;
  for (const std::size_t pieces : {1U, 2U, 4U, 8U}) {
    std::vector<float> fitted(curve.size());
    std::size_t begin = 0;
    for (const std::uint32_t length : split_at_knots(curve, pieces, 6)) {
      evaluate_polynomial(fit_polynomial(std::span(curve).subspan(begin, length), 5),
                          std::span(fitted).subspan(begin, length));
      begin += length;
    }
    ASSERT_EQ(begin, curve.size());
    errors.push_back(largest_error(fitted, curve));
  }
  EXPECT_TRUE(std::ranges::is_sorted(errors, std::greater())) << ::testing::PrintToString(errors);
  EXPECT_LT(errors.back(), errors.front() / 2);
}

// The largest error of descending_values(). Two exponentials fit the few largest values less closely.
double largest_error_of(const std::string& code) {
  return code == "fit_dexp" ? 0.06 : 0.02;
}

class EveryValueCode : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryValueCode, IsAsLongAsItSaysAndReadsOnlyThat) {
  const std::unique_ptr<ValueCode> code = make_value_code(GetParam());
  for (const std::size_t count : {1U, 2U, 5U, 6U, 7U, 13U, 511U, 512U, 513U, 1025U, 5000U}) {
    const std::vector<float> values = descending_values(count / 3, count - count / 3);
    std::vector<std::uint8_t> bytes = written(GetParam(), values);
    const std::int64_t claimed = code->bytes(static_cast<std::int64_t>(count));
    EXPECT_TRUE(code->has_fixed_size() ? std::ssize(bytes) == claimed : std::ssize(bytes) <= claimed)
        << count;
    std::vector<float> read(count);
    code->read(bytes, read);
    EXPECT_LT(largest_error(read, values), largest_error_of(GetParam())) << count;
    bytes.push_back(0);
    EXPECT_THROW(code->read(bytes, read), CollectiveError) << count;
    bytes.resize(bytes.size() - 2);
    EXPECT_THROW(code->read(bytes, read), CollectiveError) << count;
  }
}

TEST_P(EveryValueCode, KeepsNothingAndZerosExactly) {
  EXPECT_THAT(there_and_back(GetParam(), {}), IsEmpty());
  std::vector<float> values(2000);
  EXPECT_THAT(there_and_back(GetParam(), values), Each(0));
  std::ranges::fill(std::span(values).first(700), 0.25F);
  std::ranges::fill(std::span(values).last(700), -1.0F);
  const std::vector<float> read = there_and_back(GetParam(), values);
  EXPECT_THAT(std::vector(read.begin() + 700, read.end() - 700), Each(0));
}

TEST_P(EveryValueCode, MakesNumbersOrErrorsOfGarbage) {
  std::mt19937 random(17);
  std::vector<float> read(20);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::uint8_t> bytes(random() % 120);
    std::ranges::generate(bytes, [&] { return static_cast<std::uint8_t>(random() % 3); });
    try {
      make_value_code(GetParam())->read(bytes, read);
    } catch (const CollectiveError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

INSTANTIATE_TEST_SUITE_P(All, EveryValueCode, ::testing::ValuesIn(value_code_names()),
                         [](const auto& instance) { return instance.param; });

TEST(ValueCode, FloatsAreKeptBitForBit) {
  const std::vector<float> values = {3, 1e-42F, 0, -1e38F};
  EXPECT_EQ(there_and_back("f32", values), values);
  EXPECT_EQ(there_and_back("deflate", values), values);
}

TEST(ValueCode, DeflateShortensFloatsOfSimilarSize) {
  const std::vector<float> values = descending_values(6000, 4000);
  EXPECT_LT(written("deflate", values).size(), 0.95 * 4 * 10'000);
}

TEST(ValueCode, DeflateRefusesOtherCounts) {
  const std::vector<std::uint8_t> bytes = written("deflate", {1, 2, 3});
  for (const std::size_t count : {0U, 2U, 4U}) {
    std::vector<float> read(count);
    EXPECT_THROW(make_value_code("deflate")->read(bytes, read), CollectiveError) << count;
  }
}

TEST(ValueCode, EachSideOfTwoExponentialsTakesFourNumbers) {
  const std::vector<float> values = descending_values(6000, 4000);
  EXPECT_EQ(written("fit_dexp", values).size(), 8 + 2 * 4 * 8U);
  double squares = 0;
  double errors = 0;
  const std::vector<float> read = there_and_back("fit_dexp", values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    squares += std::pow(values[i], 2);
    errors += std::pow(read[i] - values[i], 2);
  }
  EXPECT_LT(errors, 2e-3 * squares);
}

TEST(ValueCode, TwoExponentialsKeepUpToEightValuesOfASideExactly) {
  std::vector<float> values = {9, 5, 5, 4, 3, 2, 1, 0.5F, 0, 0, -1, -7};
  EXPECT_EQ(there_and_back("fit_dexp", values), values);
  EXPECT_EQ(written("fit_dexp", values).size(), 8 + 4 * 10U);
  values.insert(values.begin(), 10);
  EXPECT_EQ(written("fit_dexp", values).size(), 8 + 32 + 4 * 2U) << "nine are fitted";
}

TEST(ValueCode, TwoExponentialsRefuseWhatCannotBeACurve) {
  const auto code = make_value_code("fit_dexp");
  std::vector<std::uint8_t> bytes = written("fit_dexp", descending_values(20, 0));
  std::vector<float> read(20);
  code->read(bytes, read);
  std::vector<std::uint8_t> counts = bytes;
  counts[0] = 21;
  EXPECT_THROW(code->read(counts, read), CollectiveError) << "more than there are values";
  counts = bytes;
  std::fill_n(counts.begin(), 8, std::uint8_t{0xFF});
  EXPECT_THROW(code->read(counts, read), CollectiveError) << "counts whose sum takes 33 bits";
  bytes[8 + 7] = 0x7F;
  bytes[8 + 6] = 0xF8;
  EXPECT_THROW(code->read(bytes, read), CollectiveError) << "a is not a number";
}

TEST(ValueCode, QuantisedValuesAreOffByLessThanALevelOfTheirBlock) {
  const std::vector<float> values = descending_values(1000, 1000);
  const std::vector<float> read = there_and_back("qsgd", values);
  for (std::size_t begin = 0; begin < values.size(); begin += 512) {
    const std::size_t size = std::min<std::size_t>(512, values.size() - begin);
    float scale = 0;
    for (std::size_t i = begin; i < begin + size; ++i) scale = std::max(scale, std::abs(values[i]));
    EXPECT_LT(largest_error(std::span(read).subspan(begin, size), std::span(values).subspan(begin, size)),
              scale / 63)
        << begin;
  }
  EXPECT_EQ(written("qsgd", values).size(), 4 * 4 + 2000 * 7 / 8U);
}

TEST(ValueCode, ACurveOfThousandsTakesAFewHundredBytes) {
  const std::vector<float> values = descending_values(6000, 4000);
  EXPECT_LE(written("fit_poly", values).size(), 4 + 16 * (4 + 24U));
  double squares = 0;
  double errors = 0;
  const std::vector<float> read = there_and_back("fit_poly", values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    squares += std::pow(values[i], 2);
    errors += std::pow(read[i] - values[i], 2);
  }
  EXPECT_LT(errors, 1e-4 * squares);
}

}  // namespace
}  // namespace thinpipe::trainer
