// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "trainer/base/byte_codes.hh"
#include "trainer/base/packed_codes.hh"
#include "trainer/synchronisers/quantised/sign_code.hh"
#include "trainer/synchronisers/quantised/ternary.hh"
#include "trainer/synchronisers/tests/generators.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::finite_float;
using trainer::testing::up_to;

using Codes = std::vector<std::int8_t>;

// Makes failures print codes as numbers.
std::vector<int> as_integers(const Codes& codes) {
  return {codes.begin(), codes.end()};
}

std::vector<std::uint8_t> codes_in_bytes(const Codes& codes, int bits) {
  std::vector<std::uint8_t> packed(static_cast<std::size_t>(packed_code_bytes(std::ssize(codes), bits)));
  pack_codes(codes, bits, packed);
  return packed;
}

RC_GTEST_PROP(PackedCodesProperty, ComeBackAndLeaveZerosBehind, ()) {
  for (int bits = 2; bits <= 8; ++bits) {
    const int largest = largest_code(bits);
    auto codes = *up_to(300, rc::gen::inRange(-largest, largest + 1));
    const auto packed = codes_in_bytes({codes.begin(), codes.end()}, bits);
    Codes back(8 * packed.size() / static_cast<std::size_t>(bits), 99);
    unpack_codes(packed, bits, back);
    codes.resize(back.size());
    RC_ASSERT(as_integers(back) == codes);
  }
}

RC_GTEST_PROP(SignCodeProperty, ComesBackAndLeavesZerosBehind, ()) {
  const auto values = *up_to(300, finite_float());
  std::vector<std::uint8_t> packed(static_cast<std::size_t>(sign_bytes(std::ssize(values))), 0xff);
  pack_signs(values, packed);
  Codes signs(8 * packed.size(), 99);
  unpack_signs(packed, signs);
  std::vector<int> expected(signs.size(), -1);
  std::ranges::transform(values, expected.begin(), [](float value) { return value >= 0 ? 1 : -1; });
  RC_ASSERT(as_integers(signs) == expected);
}

struct TernaryDraw {
  std::vector<float> values;
  float scale = 0;
  Codes codes;
};

// Returns the values after coding, sending and decoding.
std::vector<float> after_the_wire(const TernaryDraw& drawn) {
  Codes received(drawn.codes.size(), 99);
  unpack_codes(codes_in_bytes(drawn.codes, 2), 2, received);
  std::vector<float> values(received.size());
  expand_ternary(received, drawn.scale, values);
  return values;
}

TernaryDraw values_to_draw() {
  TernaryDraw drawn;
  drawn.values = *up_to(300, finite_float());
  drawn.scale = largest_magnitude(drawn.values);
  drawn.codes.resize(drawn.values.size(), 99);
  return drawn;
}

RC_GTEST_PROP(TernaryProperty, DrawsZeroOrTheScaleAndAlwaysTheLargest, ()) {
  TernaryDraw drawn = values_to_draw();
  const auto lane = rc::gen::map(rc::gen::inRange(0, 1 << 24),
                                 [](int i) { return std::ldexp(static_cast<float>(i), -24); });
  const auto uniform = *rc::gen::container<std::vector<float>>(drawn.values.size(), lane);
  draw_ternary(drawn.values, drawn.scale, uniform, drawn.codes);
  const std::vector<float> received = after_the_wire(drawn);
  for (std::size_t i = 0; i < received.size(); ++i) {
    const float value = drawn.values[i];
    RC_ASSERT(std::abs(value) <= drawn.scale);
    if (std::abs(value) == drawn.scale) {
      RC_ASSERT(received[i] == value);
    } else {
      RC_ASSERT((received[i] == 0 || received[i] == std::copysign(drawn.scale, value)));
      RC_ASSERT((received[i] == 0 || value != 0));
    }
  }
}

RC_GTEST_PROP(TernaryProperty, RoundingIsOffByAtMostHalfTheScale, ()) {
  TernaryDraw drawn = values_to_draw();
  round_ternary(drawn.values, drawn.scale, drawn.codes);
  const std::vector<float> received = after_the_wire(drawn);
  // Half the smallest positive number is not representable.
  const double most = 0.5 * double{drawn.scale} + double{std::numeric_limits<float>::denorm_min()};
  for (std::size_t i = 0; i < received.size(); ++i) {
    RC_ASSERT(std::abs(double{drawn.values[i]} - double{received[i]}) <= most);
  }
}

}  // namespace
}  // namespace thinpipe::trainer
