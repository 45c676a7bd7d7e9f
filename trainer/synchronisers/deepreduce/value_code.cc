// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/deepreduce/value_code.hh"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include "trainer/base/byte_codes.hh"
#include "trainer/base/packed_codes.hh"
#include "trainer/collectives/collective_error.hh"
#include "trainer/synchronisers/deepreduce/exponential_fit.hh"
#include "trainer/synchronisers/deepreduce/polynomial_fit.hh"
#include "trainer/synchronisers/sparse/bit_stream.hh"
#include "trainer/synchronisers/sparse/deflate.hh"

namespace thinpipe::trainer {
namespace {

template <class Number>
void append_numbers(std::span<const Number> numbers, std::vector<std::uint8_t>& out) {
  const std::size_t end = out.size();
  out.resize(end + numbers.size_bytes());
  if (!numbers.empty()) std::memcpy(&out[end], numbers.data(), numbers.size_bytes());
}

// Removes the first `count` numbers from `in` and returns them.
template <class Number>
std::vector<Number> read_numbers(std::span<const std::uint8_t>& in, std::size_t count) {
  if (in.size() / sizeof(Number) < count) {
    throw CollectiveError(
        fmt::format("{} numbers of a sparse message's values have {} bytes", count, in.size()));
  }
  std::vector<Number> numbers(count);
  if (count > 0) std::memcpy(numbers.data(), in.data(), count * sizeof(Number));
  in = in.subspan(count * sizeof(Number));
  return numbers;
}

void check_size(std::span<const std::uint8_t> in, std::int64_t expected_bytes) {
  if (std::ssize(in) != expected_bytes) {
    throw CollectiveError(fmt::format("the values of a sparse message take {} bytes, but it has {}",
                                      expected_bytes, in.size()));
  }
}

class FloatValues : public ValueCode {
 public:
  std::int64_t bytes(std::int64_t count) const override { return 4 * count; }

  void append(std::span<const float> values, const RandomStream& /*stream*/,
              std::vector<std::uint8_t>& out) const override {
    append_numbers(values, out);
  }

  void read(std::span<const std::uint8_t> in, std::span<float> values) const override {
    check_size(in, bytes(std::ssize(values)));
    std::ranges::copy(read_numbers<float>(in, values.size()), values.begin());
  }
};

class DeflatedValues : public ValueCode {
 public:
  std::int64_t bytes(std::int64_t count) const override {
    return count > 0 ? max_deflated_bytes(4 * count) : 0;
  }

  bool has_fixed_size() const override { return false; }

  void append(std::span<const float> values, const RandomStream& /*stream*/,
              std::vector<std::uint8_t>& out) const override {
    std::vector<std::uint8_t> floats;
    append_numbers(values, floats);
    if (!floats.empty()) append_deflated(floats, DeflateStages::all, out);
  }

  void read(std::span<const std::uint8_t> in, std::span<float> values) const override {
    if (values.empty()) return check_size(in, 0);
    const std::vector<std::uint8_t> floats = read_deflated(in, values.size_bytes());
    check_size(in, 0);
    check_size(floats, std::ssize(values) * 4);
    std::memcpy(values.data(), floats.data(), floats.size());
  }
};

class QuantisedValues : public ValueCode {
 public:
  std::int64_t bytes(std::int64_t count) const override {
    return 4 * blocks(count) + packed_code_bytes(count, code_bits);
  }

  void append(std::span<const float> values, const RandomStream& stream,
              std::vector<std::uint8_t>& out) const override {
    std::vector<float> uniform(values.size());
    fill_uniform(stream, uniform);
    std::vector<float> scales;
    for (std::size_t i = 0; i < values.size(); i += block_size) {
      scales.push_back(largest_magnitude(values.subspan(i, std::min(block_size, values.size() - i))));
    }
    append_numbers(std::span<const float>(scales), out);
    BitWriter bits(out);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float scale = scales[i / block_size];
      const float level = scale > 0 ? std::min(levels * (std::abs(values[i]) / scale), levels) : 0;
      const float whole = std::floor(level);
      const int drawn = static_cast<int>(whole) + (uniform[i] < level - whole ? 1 : 0);
      bits.append(static_cast<std::uint32_t>(largest_code(code_bits) + (values[i] < 0 ? -drawn : drawn)),
                  code_bits);
    }
    bits.finish();
  }

  void read(std::span<const std::uint8_t> in, std::span<float> values) const override {
    check_size(in, bytes(std::ssize(values)));
    const auto scales = read_numbers<float>(in, static_cast<std::size_t>(blocks(std::ssize(values))));
    BitReader bits(in);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const int code = static_cast<int>(bits.read(code_bits)) - largest_code(code_bits);
      values[i] = scales[i / block_size] / levels * static_cast<float>(code);
    }
  }

 private:
  static constexpr int code_bits = 7;
  static constexpr auto levels = static_cast<float>(largest_code(code_bits));
  static constexpr std::size_t block_size = 512;

  static std::int64_t blocks(std::int64_t count) {
    return (count + static_cast<std::int64_t>(block_size) - 1) / static_cast<std::int64_t>(block_size);
  }
};

// A curve's positive values, its zeros and its negative values.
struct CurveSides {
  explicit CurveSides(std::span<const float> curve) {
    const auto zero = std::ranges::partition_point(curve, [](float value) { return value > 0; });
    const auto negative = std::ranges::partition_point(curve, [](float value) { return value >= 0; });
    positives = {curve.begin(), zero};
    zeros = {zero, negative};
    negatives = {negative, curve.end()};
  }

  std::span<const float> positives;
  std::span<const float> zeros;
  std::span<const float> negatives;
};

//   u32 pieces   u32 length of each   f32 coefficients of each: min(6, length)
class CurveValues : public ValueCode {
 public:
  std::int64_t bytes(std::int64_t count) const override {
    const std::int64_t pieces = std::min(count, std::int64_t{2} * max_curve_pieces + 1);
    return 4 + 4 * pieces + 4 * std::min(count, pieces * (degree + 1));
  }

  bool has_fixed_size() const override { return false; }
  bool takes_a_curve() const override { return true; }

  // Zeros have their own piece, because they must stay zero.
  void append(std::span<const float> values, const RandomStream& /*stream*/,
              std::vector<std::uint8_t>& out) const override {
    const CurveSides sides(values);
    std::vector<std::uint32_t> lengths;
    for (const auto& [side, most] : {std::pair(sides.positives, max_curve_pieces), std::pair(sides.zeros, 1),
                                     std::pair(sides.negatives, max_curve_pieces)}) {
      if (side.empty()) continue;
      std::ranges::copy(split_at_knots(side, static_cast<std::size_t>(most), degree + 1),
                        std::back_inserter(lengths));
    }
    const auto pieces = static_cast<std::uint32_t>(lengths.size());
    append_numbers(std::span(&pieces, 1), out);
    append_numbers(std::span<const std::uint32_t>(lengths), out);
    for (const std::uint32_t length : lengths) {
      const int own_degree = static_cast<int>(coefficients_of(length)) - 1;
      append_numbers(std::span<const float>(fit_polynomial(values.first(length), own_degree)), out);
      values = values.subspan(length);
    }
  }

  void read(std::span<const std::uint8_t> in, std::span<float> values) const override {
    const std::uint32_t pieces = read_numbers<std::uint32_t>(in, 1).front();
    const auto lengths = read_numbers<std::uint32_t>(in, pieces);
    const std::uint64_t sum = std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0});
    if (sum != values.size() || std::ranges::find(lengths, 0U) != lengths.end()) {
      throw CollectiveError(fmt::format("pieces of a curve of {} values have {}", values.size(), sum));
    }
    for (const std::uint32_t length : lengths) {
      evaluate_polynomial(read_numbers<float>(in, coefficients_of(length)), values.first(length));
      values = values.subspan(length);
    }
    check_size(in, 0);
  }

 private:
  static constexpr int degree = 5;
  static constexpr int max_curve_pieces = 8;  // of one sign

  static std::size_t coefficients_of(std::uint32_t length) {
    return std::min<std::size_t>(length, degree + 1);
  }
};

//   u32 positive values   u32 zeros   for the positive values, then for the negative ones: float32 values if
//   there are at most 8, otherwise f64 a, u, c, v (exponential_fit.hh)
// The magnitudes of both sides are fitted in descending order. With float32, a and c would be too inexact if
// they nearly cancel each other, as they do if the exponents are close.
class ExponentialValues : public ValueCode {
 public:
  std::int64_t bytes(std::int64_t count) const override { return 8 + std::min(4 * count, 2 * side_bytes); }

  bool has_fixed_size() const override { return false; }
  bool takes_a_curve() const override { return true; }

  void append(std::span<const float> values, const RandomStream& /*stream*/,
              std::vector<std::uint8_t>& out) const override {
    const CurveSides sides(values);
    const std::array counts = {static_cast<std::uint32_t>(sides.positives.size()),
                               static_cast<std::uint32_t>(sides.zeros.size())};
    append_numbers(std::span<const std::uint32_t>(counts), out);
    append_side(sides.positives, out);
    std::vector<float> magnitudes;
    for (const float value : std::views::reverse(sides.negatives)) magnitudes.push_back(-value);
    append_side(magnitudes, out);
  }

  void read(std::span<const std::uint8_t> in, std::span<float> values) const override {
    const auto counts = read_numbers<std::uint32_t>(in, 2);
    const std::uint64_t given = std::uint64_t{counts[0]} + counts[1];
    if (given > values.size()) {
      throw CollectiveError(
          fmt::format("a curve of {} values has {} that are positive or zero", values.size(), given));
    }
    read_side(in, values.first(counts[0]));
    std::ranges::fill(values.subspan(counts[0], counts[1]), 0.0F);
    const std::span<float> negatives = values.subspan(given);
    read_side(in, negatives);
    std::ranges::reverse(negatives);
    for (float& value : negatives) value = -value;
    check_size(in, 0);
  }

 private:
  static constexpr std::size_t most_raw_values = 8;  // they take as many bytes as a fit
  static constexpr std::int64_t side_bytes = 32;

  static void append_side(std::span<const float> magnitudes, std::vector<std::uint8_t>& out) {
    if (magnitudes.size() <= most_raw_values) return append_numbers(magnitudes, out);
    const DoubleExponential fitted = fit_double_exponential(magnitudes);
    const std::array numbers = {fitted.a, fitted.u, fitted.c, fitted.v};
    append_numbers(std::span<const double>(numbers), out);
  }

  static void read_side(std::span<const std::uint8_t>& in, std::span<float> magnitudes) {
    if (magnitudes.size() <= most_raw_values) {
      std::ranges::copy(read_numbers<float>(in, magnitudes.size()), magnitudes.begin());
      return;
    }
    const auto numbers = read_numbers<double>(in, 4);
    const DoubleExponential fitted{numbers[0], numbers[1], numbers[2], numbers[3]};
    if (!evaluate_double_exponential(fitted, magnitudes))
      throw CollectiveError("a curve of exponentials in a sparse message is not finite");
  }
};

using MakeValueCode = std::function<std::unique_ptr<ValueCode>()>;

const std::map<std::string, MakeValueCode>& value_codes() {
  static const std::map<std::string, MakeValueCode> all = {
      {"deflate", [] { return std::make_unique<DeflatedValues>(); }},
      {"f32", [] { return std::make_unique<FloatValues>(); }},
      {"fit_dexp", [] { return std::make_unique<ExponentialValues>(); }},
      {"fit_poly", [] { return std::make_unique<CurveValues>(); }},
      {"qsgd", [] { return std::make_unique<QuantisedValues>(); }},
  };
  return all;
}

}  // namespace

std::unique_ptr<ValueCode> make_value_code(const std::string& name) {
  return value_codes().at(name)();
}

std::vector<std::string> value_code_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : value_codes()) names.push_back(name);
  return names;
}

}  // namespace thinpipe::trainer
