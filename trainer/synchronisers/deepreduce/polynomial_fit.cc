// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/deepreduce/polynomial_fit.hh"

#include <algorithm>
#include <cmath>

namespace thinpipe::trainer {
namespace {

// With t the distance from the middle:
//   q_0 = 1;  b_{j+1} q_{j+1} = t q_j - b_j q_{j-1};  b_j² = j²(L² - j²) / (4(4j² - 1))
class GramPolynomials {
 public:
  GramPolynomials(std::size_t points, std::size_t count)
      : middle_((static_cast<double>(points) - 1) / 2), steps_(count), values_(count) {
    const double squared_length = static_cast<double>(points) * static_cast<double>(points);
    for (std::size_t j = 1; j < count; ++j) {
      const double square = static_cast<double>(j) * static_cast<double>(j);
      steps_[j] = std::sqrt(square * (squared_length - square) / (4 * (4 * square - 1)));
    }
  }

  // Returns q_0 to q_{count-1} at a point.
  std::span<const double> at(std::size_t point) {
    const double t = static_cast<double>(point) - middle_;
    values_[0] = 1;
    for (std::size_t j = 1; j < values_.size(); ++j) {
      const double before = j > 1 ? steps_[j - 1] * values_[j - 2] : 0;
      values_[j] = (t * values_[j - 1] - before) / steps_[j];
    }
    return values_;
  }

 private:
  double middle_;
  std::vector<double> steps_;  // b_j
  std::vector<double> values_;
};

struct Knot {
  std::size_t at = 0;   // the first point after the cut
  double distance = 0;  // from the chord; 0 if there is no such point
};

struct Piece {
  std::size_t begin = 0;
  std::size_t end = 0;
  Knot knot = {};
};

Piece piece_with_knot(std::span<const float> curve, std::size_t begin, std::size_t end,
                      std::size_t shortest) {
  Piece piece{.begin = begin, .end = end};
  if (end - begin < 2 * shortest) return piece;
  const double first = curve[begin];
  const double slope = (static_cast<double>(curve[end - 1]) - first) / static_cast<double>(end - 1 - begin);
  for (std::size_t i = begin + shortest; i <= end - shortest; ++i) {
    const double distance = std::abs(curve[i] - (first + slope * static_cast<double>(i - begin)));
    if (distance > piece.knot.distance) piece.knot = {.at = i, .distance = distance};
  }
  return piece;
}

}  // namespace

std::vector<float> fit_polynomial(std::span<const float> curve, int degree) {
  const auto count = static_cast<std::size_t>(degree) + 1;
  GramPolynomials polynomials(curve.size(), count);
  std::vector<double> sums(count);
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const std::span<const double> q = polynomials.at(i);
    for (std::size_t j = 0; j < count; ++j) sums[j] += curve[i] * q[j];
  }
  std::vector<float> coefficients;
  for (const double sum : sums)
    coefficients.push_back(static_cast<float>(sum / static_cast<double>(curve.size())));
  return coefficients;
}

void evaluate_polynomial(std::span<const float> coefficients, std::span<float> curve) {
  GramPolynomials polynomials(curve.size(), coefficients.size());
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const std::span<const double> q = polynomials.at(i);
    double sum = 0;
    for (std::size_t j = 0; j < q.size(); ++j) sum += coefficients[j] * q[j];
    curve[i] = static_cast<float>(sum);
  }
}

std::vector<std::uint32_t> split_at_knots(std::span<const float> curve, std::size_t most,
                                          std::size_t shortest) {
  std::vector<Piece> pieces = {piece_with_knot(curve, 0, curve.size(), shortest)};
  while (pieces.size() < most) {
    const auto farthest =
        std::ranges::max_element(pieces, {}, [](const Piece& piece) { return piece.knot.distance; });
    if (farthest->knot.distance == 0) break;
    const Piece after = piece_with_knot(curve, farthest->knot.at, farthest->end, shortest);
    *farthest = piece_with_knot(curve, farthest->begin, farthest->knot.at, shortest);
    pieces.insert(farthest + 1, after);
  }
  std::vector<std::uint32_t> lengths;
  for (const Piece& piece : pieces) lengths.push_back(static_cast<std::uint32_t>(piece.end - piece.begin));
  return lengths;
}

}  // namespace thinpipe::trainer
