// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/deepreduce/deepreduce_code.hh"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/collective_error.hh"
#include "trainer/synchronisers/deepreduce/deepreduce_index_code.hh"
#include "trainer/synchronisers/deepreduce/value_code.hh"
#include "trainer/synchronisers/sparse/top_k.hh"

namespace thinpipe::trainer {
namespace {

constexpr std::uint32_t bucket_entries = 3001;
constexpr std::uint32_t chosen_entries = 150;
constexpr std::uint32_t some_sender = 3;
constexpr SparseHeader some_header{.method = 1, .bucket = 2, .step = 7, .n = bucket_entries};

std::vector<DeepReduceFormat> all_formats() {
  std::vector<DeepReduceFormat> out;
  for (const std::string& indices : deepreduce_index_code_names()) {
    for (const std::string& values : value_code_names())
      out.push_back({.indices = indices, .values = values});
  }
  return out;
}

std::string name_of_format(const DeepReduceFormat& format) {
  return fmt::format("{}_{}", format.indices, format.values);
}

// No two values are equal and none is zero.
std::vector<float> accumulated() {
  std::vector<float> out(bucket_entries);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>(std::sin(1 + 0.7 * static_cast<double>(i)));
  return out;
}

class DeepReduceMessage : public ::testing::TestWithParam<DeepReduceFormat> {
 protected:
  std::vector<std::uint8_t> encoded() const {
    return code_->encode(some_header, some_sender, indices_, dense_);
  }

  std::vector<float> decoded(std::span<const std::uint8_t> message,
                             std::uint32_t sender = some_sender) const {
    std::vector<float> out(bucket_entries);
    code_->add(message, some_header, sender, 1, out);
    return out;
  }

  std::unique_ptr<SparseCode> code_ = make_deepreduce_code(GetParam());
  std::vector<float> dense_ = accumulated();
  std::vector<std::uint32_t> indices_ = top_k_indices(dense_, chosen_entries);
};

TEST_P(DeepReduceMessage, IsAsLongAsItSays) {
  const std::int64_t claimed = code_->message_bytes(bucket_entries, chosen_entries);
  if (code_->has_fixed_size()) {
    EXPECT_EQ(std::ssize(encoded()), claimed);
  } else {
    EXPECT_LE(std::ssize(encoded()), claimed);
  }
  EXPECT_LE(code_->expected_bytes(bucket_entries, chosen_entries), claimed);
}

// Two exponentials cannot follow the values of false positives, which are smaller by far.
double largest_error_of_format(const DeepReduceFormat& format) {
  if (format.values == "f32" || format.values == "deflate") return 0;
  return format.values == "fit_dexp" && format.indices.starts_with("bloom") ? 0.7 : 0.05;
}

TEST_P(DeepReduceMessage, CarriesTheEntriesItSaysNearTheirValues) {
  const std::vector<float> read = decoded(encoded());
  std::int64_t carried = 0;
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (read[i] == 0) continue;
    ++carried;
    EXPECT_NEAR(read[i], dense_[i], largest_error_of_format(GetParam()));
  }
  if (GetParam().indices == "bloom_p0") {
    EXPECT_GE(carried, chosen_entries);
    for (const std::uint32_t index : indices_) EXPECT_NE(read[index], 0) << "no false negatives";
  } else {
    // A small value that replaces another may be rounded to zero.
    EXPECT_LE(carried, chosen_entries);
    EXPECT_GE(carried, GetParam().values == "qsgd" ? chosen_entries - 5 : chosen_entries);
  }
}

TEST_P(DeepReduceMessage, SaysThatAValueIsNotFinite) {
  for (const float poison : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    std::vector<float> poisoned = dense_;
    poisoned[2000] = poison;
    const std::vector<std::uint8_t> message =
        code_->encode(some_header, some_sender, top_k_indices(poisoned, chosen_entries), poisoned);
    EXPECT_TRUE(std::ranges::any_of(decoded(message), [](float value) { return std::isnan(value); }));
    EXPECT_LE(std::ssize(message), code_->message_bytes(bucket_entries, chosen_entries));
  }
}

TEST_P(DeepReduceMessage, IsRefusedInPiecesAndWithAnotherFlag) {
  const std::vector<std::uint8_t> message = encoded();
  for (std::size_t bytes = 0; bytes < message.size(); bytes += 7) {
    EXPECT_THROW(decoded(std::span(message).first(bytes)), CollectiveError) << bytes;
  }
  std::vector<std::uint8_t> longer = message;
  longer.push_back(0);
  EXPECT_THROW(decoded(longer), CollectiveError);
  std::vector<std::uint8_t> flagged = message;
  flagged[sparse_header_bytes] = 2;
  EXPECT_THROW(decoded(flagged), CollectiveError);
}

INSTANTIATE_TEST_SUITE_P(All, DeepReduceMessage, ::testing::ValuesIn(all_formats()),
                         [](const auto& instance) { return name_of_format(instance.param); });

TEST(DeepReduceCode, TakesTheBytesOfItsEquations) {
  // m = ⌈1000·14.3777⌉ = 14378 bits; of 99,000 other entries 99 are false positives.
  const auto bytes = [](const char* indices, const char* values) {
    return make_deepreduce_code({.indices = indices, .values = values})->expected_bytes(100'000, 1000);
  };
  EXPECT_EQ(bytes("bloom_p0", "f32"), 21 + 1798 + 4 * 1099);
  EXPECT_EQ(bytes("bloom_p1", "f32"), 21 + 1798 + 4 * 1000);
  EXPECT_EQ(bytes("bloom_p2", "qsgd"), 21 + 1798 + 4 * 2 + 875);
  EXPECT_EQ(bytes("plain", "qsgd"), 21 + 4000 + 4 * 2 + 875);
  // At most 17 pieces. The order takes 10 bits for each of a thousand values; a list needs none.
  EXPECT_EQ(bytes("plain", "fit_poly"), 21 + 4000 + 4 + 17 * (4 + 24));
  EXPECT_EQ(bytes("bloom_p1", "fit_poly"), 21 + 1798 + 1250 + 4 + 17 * (4 + 24));
  // Four doubles on each side of zero.
  EXPECT_EQ(bytes("plain", "fit_dexp"), 21 + 4000 + 8 + 2 * 32);
  EXPECT_EQ(bytes("bloom_p1", "fit_dexp"), 21 + 1798 + 1250 + 8 + 2 * 32);
  EXPECT_EQ(bytes("run_length", "f32"),
            21 + make_index_code("run_length")->expected_bytes(100'000, 1000) + 4000);
  EXPECT_EQ(bytes("huffman", "qsgd"),
            21 + make_index_code("huffman")->expected_bytes(100'000, 1000) + 4 * 2 + 875);
}

TEST(DeepReduceCode, HasAFixedSizeOnlyIfBothCodesHave) {
  const auto is_fixed = [](const char* indices, const char* values) {
    return make_deepreduce_code({.indices = indices, .values = values})->has_fixed_size();
  };
  EXPECT_TRUE(is_fixed("bloom_p1", "qsgd"));
  EXPECT_FALSE(is_fixed("run_length", "qsgd"));
  EXPECT_FALSE(is_fixed("bloom_p1", "deflate"));
  EXPECT_FALSE(is_fixed("bloom_p0", "f32"));
}

TEST(DeepReduceIndexCode, RefusesPlacesThatAreNone) {
  const auto read = [](const char* code, const std::vector<std::uint8_t>& bytes, std::uint32_t count) {
    std::span<const std::uint8_t> in = bytes;
    return make_deepreduce_index_code(code, 0.5)->read(in, 8, count, {});
  };
  EXPECT_THAT(read("plain", {5, 0, 0, 0, 4, 0, 0, 0}, 2), ::testing::ElementsAre(5, 4));
  EXPECT_THROW(read("plain", {5, 0, 0, 0, 5, 0, 0, 0}, 2), CollectiveError) << "twice";
  EXPECT_THROW(read("plain", {5, 0, 0, 0, 8, 0, 0, 0}, 2), CollectiveError) << "not below n";
  EXPECT_THROW(read("bloom_p1", {0}, 1), CollectiveError) << "an empty filter";
}

TEST(DeepReduceCode, ARandomChoiceGoesByTheSender) {
  const auto code = make_deepreduce_code({.indices = "bloom_p1", .false_positive_rate = 0.1});
  const std::vector<float> dense = accumulated();
  const auto places_from = [&](std::uint32_t sender) {
    std::vector<float> out(bucket_entries);
    code->add(code->encode(some_header, sender, top_k_indices(dense, chosen_entries), dense), some_header,
              sender, 1, out);
    return out;
  };
  EXPECT_NE(places_from(0), places_from(1));
}

TEST(DeepReduceCode, SmallBucketsGoPlainly) {
  const auto code = make_deepreduce_code({.indices = "bloom_p0", .values = "fit_poly"});
  EXPECT_EQ(code->message_bytes(1000, 10), 20 + 8 * 10);
  const std::vector<float> dense(1000, 0.1F);
  const SparseHeader header{.method = 1, .n = 1000};
  std::vector<float> out(1000);
  code->add(code->encode(header, 0, std::vector<std::uint32_t>{5, 999}, dense), header, 0, 1, out);
  EXPECT_EQ(std::ranges::count(out, 0.1F), 2);
}

}  // namespace
}  // namespace thinpipe::trainer
