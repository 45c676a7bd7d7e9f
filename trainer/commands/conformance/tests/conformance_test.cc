// SPDX-License-Identifier: Apache-2.0
// Examines every registered method with every number of workers over every backend: the properties of all
// methods and the declared ones. Further variants are examined with some numbers of workers and backends.
#include "trainer/commands/conformance/conformance.hh"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/collectives/tests/reduction_tree.hh"
#include "trainer/commands/conformance/tests/variants.hh"

namespace thinpipe::trainer {
namespace {

struct ConformanceCase {
  testing::Variant variant;
  testing::Workers workers;
};

void PrintTo(const ConformanceCase& each, std::ostream* out) {
  *out << each.variant.options << " with " << each.workers.count << " workers, " << each.workers.backend;
}

// Returns the first variant of each method, or all others.
std::vector<testing::Variant> variants(bool first) {
  std::vector<testing::Variant> out = testing::all_variants();
  std::string last_method;
  std::erase_if(out, [&](const testing::Variant& variant) {
    const std::string method = variant.options.at("name");
    return (std::exchange(last_method, method) != method) != first;
  });
  return out;
}

std::vector<ConformanceCase> first_variants() {
  std::vector<ConformanceCase> out;
  for (const testing::Variant& variant : variants(true)) {
    for (const char* backend : {"in_process", "gloo", "ring", "island"}) {
      for (const int count : {1, 2, 3, 5, 8}) out.push_back({variant, {backend, count}});
    }
  }
  return out;
}

// Returns the smallest number of workers, at least `count`, that the method serves.
int served(const testing::Variant& variant, int count) {
  const auto method = SynchroniserRegistry::instance().make(variant.options, {"test", ""}, {});
  const auto multiple_of = static_cast<int>(method->workers_multiple_of());
  return (count + multiple_of - 1) / multiple_of * multiple_of;
}

std::vector<ConformanceCase> further_variants() {
  std::vector<ConformanceCase> out;
  for (const testing::Variant& variant : variants(false)) {
    for (const auto& [backend, count] :
         {std::pair("in_process", 3), std::pair("gloo", 3), std::pair("ring", 5), std::pair("island", 5)}) {
      out.push_back({variant, {backend, served(variant, count)}});
    }
  }
  return out;
}

class Conformance : public ::testing::TestWithParam<ConformanceCase> {};

TEST_P(Conformance, HasItsDeclaredProperties) {
  const auto& [variant, of] = GetParam();
  testing::Workers workers = of;
  workers.reduction_tree = testing::reduction_tree_for(workers.count);
  const testing::MakeSynchroniser make = [&variant = variant](const SynchroniserContext& context) {
    return SynchroniserRegistry::instance().make(variant.options, {"test", ""}, context);
  };
  for (const auto& properties : {testing::common_properties(), testing::declared_properties()}) {
    EXPECT_THAT(testing::violations(properties, make, workers), ::testing::IsEmpty());
  }
}

std::string name_of(const ::testing::TestParamInfo<ConformanceCase>& tested) {
  const testing::Workers& workers = tested.param.workers;
  return fmt::format("{}_{}_{}", tested.param.variant.name, workers.backend, workers.count);
}

INSTANTIATE_TEST_SUITE_P(First, Conformance, ::testing::ValuesIn(first_variants()), name_of);
INSTANTIATE_TEST_SUITE_P(Further, Conformance, ::testing::ValuesIn(further_variants()), name_of);

// A declaration that no property examines would be meaningless.
class Declaring : public Synchroniser {
 public:
  explicit Declaring(const MethodProperties& properties) : properties_(properties) {}
  MethodProperties properties() const override { return properties_; }
  void synchronise(Bucket& /*bucket*/, Collective& /*network*/) override {}
  ExpectedTraffic traffic(const Bucket& /*bucket*/, int /*world_size*/) const override { return {}; }

 private:
  MethodProperties properties_;
};

std::vector<std::string> examined(const MethodProperties& properties) {
  const testing::Examination of(
      "", [&](const SynchroniserContext&) { return std::make_unique<Declaring>(properties); },
      {"in_process", 2});
  std::vector<std::string> names;
  for (const testing::Property& property : testing::declared_properties()) {
    if (property.applies(of)) names.push_back(property.name);
  }
  return names;
}

TEST(ConformanceSuite, ExaminesEveryDeclaredProperty) {
  using ::testing::ElementsAre;
  EXPECT_THAT(examined({.estimate = Estimate::exact}), ElementsAre("GivesTheMean"));
  EXPECT_THAT(examined({.estimate = Estimate::rounded}), ElementsAre("GivesTheMean"));
  EXPECT_THAT(examined({.estimate = Estimate::unbiased}), ElementsAre("DrawsAroundTheMean"));
  EXPECT_THAT(examined({.estimate = Estimate::error_feedback}), ElementsAre("NothingIsLost"));
  EXPECT_THAT(examined({.estimate = Estimate::biased}), ElementsAre());
  EXPECT_THAT(examined({.estimate = Estimate::biased, .all_reduce_compatible = true}),
              ElementsAre("OnlySumsTravel"));
}

}  // namespace
}  // namespace thinpipe::trainer
