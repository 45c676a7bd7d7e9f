// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "trainer/synchronisers/sparse/top_k.hh"
#include "trainer/synchronisers/tests/generators.hh"

namespace thinpipe::trainer {
namespace {

using trainer::testing::finite_float;
using trainer::testing::up_to;

RC_GTEST_PROP(TopKProperty, TakesWhatComesFirstByMagnitudeThenByIndex, ()) {
  const auto values = *up_to(2000, finite_float());
  const std::size_t most =
      *rc::gen::element(values.size(), values.size() / 10);  // with few candidates, the search is different
  const auto k = *rc::gen::inRange<std::size_t>(0, most + 1);
  const std::vector<std::uint32_t> indices = top_k_indices(values, k);
  RC_ASSERT(indices.size() == k);
  RC_ASSERT(std::ranges::is_sorted(indices, std::less_equal()));
  RC_ASSERT((indices.empty() || indices.back() < values.size()));
  std::pair<float, std::uint32_t> last_taken = {-std::numeric_limits<float>::infinity(), 0};
  std::pair<float, std::uint32_t> first_left = {1, 0};
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    const std::pair place(-std::abs(values[i]), i);
    if (std::ranges::binary_search(indices, i)) {
      last_taken = std::max(last_taken, place);
    } else {
      first_left = std::min(first_left, place);
    }
  }
  RC_ASSERT(last_taken < first_left);
}

}  // namespace
}  // namespace thinpipe::trainer
