// Every registered method, in every variant, with every number of workers, over every backend: holds what all
// must and what it promises.
#include "trainer/synchronisers/tests/conformance.hh"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/synchronisers/tests/variants.hh"

namespace thinpipe::trainer {
namespace {

struct ConformanceCase {
  testing::Variant variant;
  testing::Workers workers;
};

std::vector<ConformanceCase> conformance_cases() {
  std::vector<ConformanceCase> out;
  for (const testing::Variant& variant : testing::all_variants()) {
    for (const int count : {1, 2, 3, 5, 8}) out.push_back({variant, {"in_process", count}});
    for (const int count : {2, 5}) out.push_back({variant, {"gloo", count}});
  }
  return out;
}

class Conformance : public ::testing::TestWithParam<ConformanceCase> {};

TEST_P(Conformance, HoldsWhatItPromises) {
  const auto& [variant, workers] = GetParam();
  const testing::MakeSynchroniser make = [&](const SynchroniserContext& context) {
    return SynchroniserRegistry::instance().make(variant.options, {"test", ""}, context);
  };
  const Promises promises = testing::promises_of(make);
  for (const testing::Property& property : testing::properties()) {
    if (!property.applies(promises, workers)) continue;
    EXPECT_THAT(property.violations(make, workers), ::testing::IsEmpty()) << property.name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Conformance, ::testing::ValuesIn(conformance_cases()), [](const auto& info) {
  return fmt::format("{}_{}_{}", info.param.variant.name, info.param.workers.backend,
                     info.param.workers.count);
});

// A promise that no property examines would be empty.
TEST(ConformanceSuite, ExaminesEveryPromise) {
  for (const Estimate estimate :
       {Estimate::exact, Estimate::rounded, Estimate::unbiased, Estimate::delayed}) {
    const auto examined_only_for_it = [&](const testing::Property& property) {
      return property.applies({.estimate = estimate}, {"in_process", 2}) &&
             !std::ranges::all_of(std::vector{Estimate::exact, Estimate::unbiased, Estimate::delayed},
                                  [&](Estimate other) {
                                    return property.applies({.estimate = other}, {"in_process", 2});
                                  });
    };
    EXPECT_TRUE(std::ranges::any_of(testing::properties(), examined_only_for_it));
  }
}

}  // namespace
}  // namespace thinpipe::trainer
