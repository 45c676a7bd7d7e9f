// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "trainer/synchronisers/transforms/walsh_hadamard.hh"

namespace thinpipe::trainer {
namespace {

double norm_of(const std::vector<float>& values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0, std::plus(),
                                      [](double a, double b) { return a * b; }));
}

// 2^0 to 2^12 values whose squares a float can represent.
std::vector<float> values_to_transform() {
  const auto value = rc::gen::map(
      rc::gen::pair(rc::gen::inRange(-(1 << 24), 1 << 24), rc::gen::inRange(-40, 20)),
      [](const std::pair<int, int>& of) { return std::ldexp(static_cast<float>(of.first), of.second); });
  const int power = *rc::gen::inRange(0, 13);
  return *rc::gen::container<std::vector<float>>(std::size_t{1} << power, value);
}

// Each addition rounds by 6e-8 of its result, and a value goes through at most 12 additions.
constexpr double transform_tolerance = 2e-6;

RC_GTEST_PROP(WalshHadamardProperty, KeepsTheNorm, ()) {
  std::vector<float> values = values_to_transform();
  const double norm = norm_of(values);
  walsh_hadamard(values);
  RC_ASSERT(std::abs(norm_of(values) - norm) <= transform_tolerance * norm);
}

RC_GTEST_PROP(WalshHadamardProperty, IsItsOwnInverse, ()) {
  const std::vector<float> in = values_to_transform();
  std::vector<float> out = in;
  walsh_hadamard(out);
  walsh_hadamard(out);
  for (std::size_t i = 0; i < in.size(); ++i) out[i] -= in[i];
  RC_ASSERT(norm_of(out) <= transform_tolerance * norm_of(in));
}

}  // namespace
}  // namespace thinpipe::trainer
