// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/partitions/partition.hh"

#include <algorithm>
#include <cmath>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/datasets/partitions/tests/making.hh"

namespace thinpipe::trainer {
namespace {

using testing::balanced;
using testing::divide;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Keys;
using testing::make_partition;
using testing::refusal;
using ::testing::SizeIs;

Json dirichlet(double alpha) {
  return {{"name", "dirichlet"}, {"alpha", alpha}};
}

Json classes_per_worker(std::int64_t classes) {
  return {{"name", "classes_per_worker"}, {"classes", classes}};
}

// Returns the number of examples of each class in a part.
std::vector<std::int64_t> class_counts(const std::vector<std::int64_t>& part, const Keys& classes) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(*std::ranges::max_element(classes)) + 1);
  for (const std::int64_t example : part)
    ++counts[static_cast<std::size_t>(classes[static_cast<std::size_t>(example)])];
  return counts;
}

TEST(Iid, GivesWorkersNoExamplesOfTheirOwn) {
  const auto partition = make_partition({{"name", "iid"}});
  EXPECT_EQ(partition->divided_by(), DividedBy::nothing);
  EXPECT_FALSE(partition->divide({}, 3, 1));
}

// Pins the definition, on which the identity of runs depends.
TEST(Dirichlet, IsThisPartition) {
  EXPECT_THAT(divide(dirichlet(1), balanced(2, 6), 3),
              ElementsAre(ElementsAre(0, 1, 4, 5), ElementsAre(2, 3, 6, 7, 8), ElementsAre(9, 10, 11)));
}

// With alpha a and n workers, a worker's share has the distribution Beta(a, (n - 1) a). If (n - 1) a is 1,
// this is P(share <= x) = x^a. By Kolmogorov, the distance is above 1.95 / sqrt(draws) with a probability of
// 0.1 %.
TEST(Dirichlet, SharesHaveTheirDistribution) {
  constexpr std::int64_t classes = 600;
  constexpr std::int64_t each = 500;
  Keys keys = balanced(classes, each);
  for (const std::int64_t workers : {2, 3, 11}) {
    const double alpha = 1.0 / static_cast<double>(workers - 1);
    const Parts parts = divide(dirichlet(alpha), keys, workers);
    for (const std::size_t rank : {std::size_t{0}, parts.size() - 1}) {
      std::vector<std::int64_t> counts = class_counts(parts[rank], keys);
      std::ranges::sort(counts);
      double distance = 0;
      for (std::size_t i = 0; i < counts.size(); ++i) {
        // A count stands for the shares that are rounded to it.
        const double share = (static_cast<double>(counts[i]) + 0.5) / each;
        const auto at_most =
            static_cast<double>(std::ranges::upper_bound(counts, counts[i]) - counts.begin());
        distance = std::max(distance, std::abs(std::pow(std::min(share, 1.0), alpha) - at_most / classes));
      }
      EXPECT_LT(distance, 1.95 / std::sqrt(classes)) << workers << " workers, rank " << rank;
    }
  }
}

TEST(Dirichlet, DrawsAgainUntilEveryWorkerHasAnExample) {
  // Most draws give all of the single class to one worker.
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const auto& part : divide(dirichlet(0.02), Keys(100, 0), 2, seed)) EXPECT_FALSE(part.empty());
  }
  EXPECT_THAT(
      refusal(dirichlet(0.001), Keys(100, 0), 50),
      HasSubstr("experiment.json at /partition/alpha: leaves one of 50 workers without examples in each "
                "of 1000 draws: set a value above 0.001, or use fewer workers"));
}

TEST(Dirichlet, RefusesWhatHasNoClasses) {
  EXPECT_THAT(
      refusal(dirichlet(1), {}, 2),
      HasSubstr("/partition/name: divides examples by their class, but in this data set every token has"));
  EXPECT_THAT(refusal(dirichlet(0), {0, 1}, 2), HasSubstr("/partition/alpha: must be at least 0.001"));
}

TEST(ClassesPerWorker, GivesEachWorkerExactlyThatMany) {
  const Keys keys = balanced(10, 60);
  for (const std::int64_t c : {2, 3, 10}) {
    std::set<std::vector<std::int64_t>> mixtures;
    for (const auto& part : divide(classes_per_worker(c), keys, 8)) {
      const auto counts = class_counts(part, keys);
      EXPECT_EQ(std::ranges::count_if(counts, [](std::int64_t count) { return count > 0; }), c);
      mixtures.insert(counts);
    }
    EXPECT_EQ(mixtures.size(), c == 10 ? 2U : mixtures.size())
        << "60 examples among 8 workers are 7 or 8 each";
  }
}

TEST(ClassesPerWorker, DividesAClassEquallyAmongItsWorkers) {
  // Five pairs of classes for eight workers: three pairs have two workers each.
  std::vector<std::size_t> sizes;
  for (const auto& part : divide(classes_per_worker(2), balanced(10, 60), 8)) sizes.push_back(part.size());
  EXPECT_EQ(std::ranges::count(sizes, 60U), 6);
  EXPECT_EQ(std::ranges::count(sizes, 120U), 2);
}

TEST(ClassesPerWorker, RefusesWhatLeavesClassesOrWorkersOut) {
  EXPECT_THAT(
      refusal(classes_per_worker(2), balanced(10, 60), 4),
      HasSubstr("/partition/classes: must be at least 3, so that 4 workers have all 10 classes, but is 2"));
  EXPECT_THAT(refusal(classes_per_worker(3), balanced(2, 60), 4),
              HasSubstr("/partition/classes: must be at most 2, the number of classes in the training set"));
  EXPECT_THAT(refusal(classes_per_worker(1), balanced(2, 1), 4),
              HasSubstr("/partition/classes: leaves one of 4 workers without examples"));
  EXPECT_THAT(refusal(classes_per_worker(1), {}, 4), HasSubstr("every token has a label"));
}

TEST(BySource, KeepsSourcesTogetherAndWorkersBalanced) {
  // Sources of 1, 2, ..., 40 examples: 820 in all.
  Keys keys;
  for (std::int64_t source = 1; source <= 40; ++source) keys.insert(keys.end(), source, 1000 - source);
  const Parts parts = divide({{"name", "by_source"}}, keys, 4);
  std::set<std::int64_t> seen;
  for (const auto& part : parts) {
    std::set<std::int64_t> sources;
    for (const std::int64_t example : part) sources.insert(keys[static_cast<std::size_t>(example)]);
    for (const std::int64_t source : sources) EXPECT_TRUE(seen.insert(source).second) << source;
    EXPECT_NEAR(static_cast<double>(part.size()), 205, 40) << "the largest source";
  }
  EXPECT_THAT(seen, SizeIs(40));
}

TEST(BySource, NeedsASourcePerWorker) {
  const Json by_source = {{"name", "by_source"}};
  EXPECT_THAT(divide(by_source, {5, 7, 5, 7}, 2),
              ::testing::UnorderedElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
  EXPECT_THAT(refusal(by_source, {5, 7, 5}, 3),
              HasSubstr("/partition/name: gives each worker at least one source, "
                        "but the training set has only 2 for 3 workers"));
  EXPECT_THAT(refusal(by_source, {}, 2), HasSubstr("/partition/name: needs the source of each example"));
}

}  // namespace
}  // namespace thinpipe::trainer
