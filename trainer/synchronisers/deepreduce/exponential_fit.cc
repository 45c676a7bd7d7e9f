// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/deepreduce/exponential_fit.hh"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

namespace thinpipe::trainer {
namespace {

using Column = std::vector<double>;

// e^300 squared is still a double, and e^-300 is no subnormal number, with which processors are slow.
constexpr double largest_exponent = 300;
// Closer exponents would make the two columns of the second regression too similar.
constexpr double least_difference = 0.01;
// A column is dropped if the earlier ones explain all but this share of it.
constexpr double least_share = 1e-10;

struct Exponents {
  double b = 0;
  double d = 0;
};

double dot(const Column& one, const Column& other) {
  return std::inner_product(one.begin(), one.end(), other.begin(), 0.0);
}

// Returns the integral of a column over x by trapezoids.
Column integral_of(const Column& column) {
  const double half_step = 0.5 / static_cast<double>(column.size() - 1);
  Column out(column.size());
  for (std::size_t i = 1; i < column.size(); ++i)
    out[i] = out[i - 1] + half_step * (column[i - 1] + column[i]);
  return out;
}

Column positions(std::size_t count) {
  Column out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<double>(i) / static_cast<double>(count - 1);
  return out;
}

// Columns 1, x, S and SS, made orthonormal by the modified Gram-Schmidt method.
class IntegralRegression {
 public:
  explicit IntegralRegression(const Column& y) {
    const Column integral = integral_of(y);
    for (Column column : {Column(y.size(), 1.0), positions(y.size()), integral, integral_of(integral)}) {
      if (!add(std::move(column))) break;
      on_y_.push_back(dot(columns_.back(), y));
    }
  }

  // Returns the exponents of two exponentials, if the columns determine them.
  std::optional<Exponents> two() const {
    if (columns_.size() < 4) return std::nullopt;
    const double product = -on_y_[3] / size_[3];
    const double sum = (on_y_[2] + product * double_on_single_) / size_[2];
    const double difference = std::sqrt(std::max(0.0, sum * sum - 4 * product));
    const double half = std::max(difference, least_difference) / 2;
    return Exponents{sum / 2 - half, sum / 2 + half};
  }

  // Returns the exponent of one exponential beside a constant, if the columns determine it.
  std::optional<Exponents> one() const {
    if (columns_.size() < 3) return std::nullopt;
    const double b = on_y_[2] / size_[2];
    return Exponents{std::copysign(std::max(std::abs(b), least_difference), b), 0};
  }

 private:
  // Returns false if the column depends on the earlier ones.
  bool add(Column column) {
    const double whole = std::sqrt(dot(column, column));
    for (const Column& other : columns_) {
      const double share = dot(other, column);
      for (std::size_t i = 0; i < column.size(); ++i) column[i] -= share * other[i];
      double_on_single_ = share;  // at last that of SS on S
    }
    const double rest = std::sqrt(dot(column, column));
    if (!(rest > least_share * whole)) return false;
    for (double& value : column) value /= rest;
    columns_.push_back(std::move(column));
    size_.push_back(rest);
    return true;
  }

  std::vector<Column> columns_;
  Column size_;                  // of each column before it was divided by it
  Column on_y_;                  // projections of y
  double double_on_single_ = 0;  // projection of SS
};

// Returns the fit of least squared error for these exponents; nullopt if the two exponentials are too similar.
std::optional<DoubleExponential> with_exponents(const Exponents& exponents, const Column& y) {
  const auto factor = [&y](double exponent) {
    return std::exp(std::clamp(exponent, -largest_exponent, largest_exponent) /
                    static_cast<double>(y.size() - 1));
  };
  DoubleExponential out{.u = factor(exponents.b), .v = factor(exponents.d)};
  double uu = 0;
  double uv = 0;
  double vv = 0;
  double uy = 0;
  double vy = 0;
  double u = 1;
  double v = 1;
  for (const double value : y) {
    uu += u * u;
    uv += u * v;
    vv += v * v;
    uy += u * value;
    vy += v * value;
    u *= out.u;
    v *= out.v;
  }
  const double similarity = uv / uu * (uv / vv);
  if (!(similarity < 1 - least_share)) return std::nullopt;
  out.a = (uy / uu - uv / uu * (vy / vv)) / (1 - similarity);
  out.c = (vy / vv - uv / vv * (uy / uu)) / (1 - similarity);
  return out;
}

// Calls use(i, value) for each point of the fitted curve.
void for_each_value(const DoubleExponential& fitted, std::size_t count, const auto& use) {
  double u = fitted.a;
  double v = fitted.c;
  for (std::size_t i = 0; i < count; ++i) {
    use(i, u + v);
    u *= fitted.u;
    v *= fitted.v;
  }
}

double squared_error(const DoubleExponential& fitted, const Column& y) {
  double sum = 0;
  for_each_value(fitted, y.size(),
                 [&](std::size_t i, double value) { sum += (value - y[i]) * (value - y[i]); });
  return sum;
}

}  // namespace

DoubleExponential fit_double_exponential(std::span<const float> curve) {
  const double largest = *std::ranges::max_element(curve);
  Column y(curve.begin(), curve.end());
  for (double& value : y) value /= largest;
  DoubleExponential best{.a = std::accumulate(y.begin(), y.end(), 0.0) / static_cast<double>(y.size())};
  double best_error = squared_error(best, y);
  const IntegralRegression regression(y);
  for (const std::optional<Exponents>& exponents : {regression.one(), regression.two()}) {
    const auto fitted = exponents ? with_exponents(*exponents, y) : std::nullopt;
    const double error = fitted ? squared_error(*fitted, y) : std::numeric_limits<double>::infinity();
    if (!(error < best_error)) continue;  // nor if it is not a number
    best = *fitted;
    best_error = error;
  }
  best.a *= largest;
  best.c *= largest;
  return best;
}

bool evaluate_double_exponential(const DoubleExponential& fitted, std::span<float> curve) {
  constexpr double most = std::numeric_limits<float>::max();
  bool is_finite = true;
  for_each_value(fitted, curve.size(), [&](std::size_t i, double value) {
    is_finite = is_finite && std::isfinite(value);
    curve[i] = std::isfinite(value) ? static_cast<float>(std::clamp(value, -most, most)) : 0.0F;
  });
  return is_finite;
}

}  // namespace thinpipe::trainer
