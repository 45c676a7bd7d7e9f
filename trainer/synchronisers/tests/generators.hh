// SPDX-License-Identifier: Apache-2.0
// Generators of random inputs for property tests.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <rapidcheck.h>

namespace thinpipe::trainer::testing {

// Every exponent and both signs, including zeros and subnormal numbers; small numbers repeat.
inline rc::Gen<float> finite_float() {
  const auto of_bits = [](std::uint32_t bits) {
    const auto value = std::bit_cast<float>(bits);
    return std::isfinite(value) ? value
                                : std::bit_cast<float>(bits ^ 0x40000000U);  // with a smaller exponent
  };
  const auto any =
      rc::gen::map(rc::gen::inRange<std::uint32_t>(0, std::numeric_limits<std::uint32_t>::max()), of_bits);
  const auto usual = rc::gen::element(0.0F, -0.0F, 1.0F, -1.0F, 2.0F, -2.0F);
  return rc::gen::weightedOneOf<float>({{2, any}, {1, usual}});
}

// Up to `most` values, with every count equally likely.
template <class T>
rc::Gen<std::vector<T>> up_to(std::size_t most, const rc::Gen<T>& values) {
  return rc::gen::mapcat(rc::gen::inRange<std::size_t>(0, most + 1), [values](std::size_t count) {
    return rc::gen::container<std::vector<T>>(count, values);
  });
}

}  // namespace thinpipe::trainer::testing
