// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensors/weight_names.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::set<std::string> needed = {"fc.weight", "fc.bias", "norm.weight"};

std::set<std::string> after(const std::set<std::string>& names, const std::string& prefix) {
  std::set<std::string> out;
  for (const std::string& name : names) out.insert(prefix + name);
  return out;
}

TEST(WithoutWrappers, TakesThemOutWhereverTheyAre) {
  EXPECT_EQ(without_wrappers("_orig_mod.fc.weight"), "fc.weight");
  EXPECT_EQ(without_wrappers("features._orig_mod.0.weight"), "features.0.weight");
  EXPECT_EQ(without_wrappers("_fsdp_wrapped_module._orig_mod.fc.bias"), "fc.bias");
  EXPECT_EQ(without_wrappers("my_orig_mod.fc"), "my_orig_mod.fc");
  EXPECT_EQ(without_wrappers("fc._orig_mod"), "fc._orig_mod");  // a tensor of that name
  EXPECT_EQ(without_wrappers(""), "");
}

TEST(FindPrefix, IsEmptyIfTheNamesAreTheModelsOwn) {
  EXPECT_EQ(find_prefix(needed, needed).prefix, "");
  auto both = after(needed, "ema.");
  both.insert(needed.begin(), needed.end());
  EXPECT_EQ(find_prefix(needed, both).prefix, "");
  EXPECT_EQ(find_prefix(needed, {"other"}).prefix, "");
  EXPECT_THAT(find_prefix(needed, {}).alternatives, IsEmpty());
}

TEST(FindPrefix, FindsWhatMostNamesComeAfter) {
  auto names = after(needed, "module.model.");
  names.insert("n_averaged");
  EXPECT_EQ(find_prefix(needed, names).prefix, "module.model.");
  names.insert("teacher.fc.weight");
  EXPECT_EQ(find_prefix(needed, names).prefix, "module.model.");
}

TEST(FindPrefix, ChoosesNoneOfSeveral) {
  auto names = after(needed, "model.");
  names.merge(after(needed, "ema_model."));
  const NamePrefix found = find_prefix(needed, names);
  EXPECT_EQ(found.prefix, "");
  EXPECT_THAT(found.alternatives, ElementsAre("ema_model.", "model."));
}

}  // namespace
}  // namespace thinpipe::trainer
