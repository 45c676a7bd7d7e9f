// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "trainer/datasets/partitions/tests/making.hh"

namespace thinpipe::trainer {
namespace {

using testing::balanced;
using testing::Keys;
using testing::make_partition;

// Any partition that divides examples, with any options.
Json any_partition() {
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      return {{"name", "dirichlet"}, {"alpha", *rc::gen::element(0.001, 0.05, 0.3, 1.0, 10.0, 1e6)}};
    case 1:
      return {{"name", "classes_per_worker"}, {"classes", *rc::gen::inRange(1, 8)}};
    default:
      return {{"name", "by_source"}};
  }
}

RC_GTEST_PROP(PartitionProperty, GivesEachExampleToOneWorkerAndEachWorkerOne, ()) {
  const Json options = any_partition();
  const auto keys = *rc::gen::container<Keys>(rc::gen::inRange<std::int64_t>(-3, 30));
  const auto workers = *rc::gen::inRange<std::int64_t>(1, 12);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto partition = make_partition(options);
  std::optional<Parts> parts;
  try {
    parts = partition->divide(keys, workers, seed);
  } catch (const InputError&) {
    RC_DISCARD("cannot be divided in this way");
  }
  RC_ASSERT(parts.has_value());
  RC_ASSERT(std::ssize(*parts) == workers);
  std::vector<std::int64_t> all;
  for (const auto& part : *parts) {
    RC_ASSERT(!part.empty());
    RC_ASSERT(std::ranges::is_sorted(part));
    all.insert(all.end(), part.begin(), part.end());
  }
  std::ranges::sort(all);
  std::vector<std::int64_t> expected(keys.size());
  std::iota(expected.begin(), expected.end(), 0);
  RC_ASSERT(all == expected);
  // Every worker computes the partition itself.
  RC_ASSERT(make_partition(options)->divide(keys, workers, seed) == parts);
}

// Returns the mean over workers of the largest class's share of a worker's examples.
double concentration(double alpha, std::uint64_t seed) {
  constexpr std::int64_t classes = 10;
  const Keys keys = balanced(classes, 400);
  const auto parts = make_partition({{"name", "dirichlet"}, {"alpha", alpha}})->divide(keys, 8, seed);
  double sum = 0;
  for (const auto& part : *parts) {
    std::vector<std::int64_t> counts(classes);
    for (const std::int64_t example : part)
      ++counts[static_cast<std::size_t>(keys[static_cast<std::size_t>(example)])];
    sum += static_cast<double>(*std::ranges::max_element(counts)) / static_cast<double>(part.size());
  }
  return sum / static_cast<double>(parts->size());
}

RC_GTEST_PROP(PartitionProperty, ALargeAlphaIsNearlyIidAndASmallOneConcentrated, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  RC_ASSERT(concentration(1e6, seed) < 0.105);  // 0.1 for ten equal classes
  RC_ASSERT(concentration(0.05, seed) > 0.4);
}

}  // namespace
}  // namespace thinpipe::trainer
