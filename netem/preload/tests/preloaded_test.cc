// SPDX-License-Identifier: Apache-2.0
#include "netem/preload/preloaded.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/exception.hh"

namespace thinpipe::netem {
namespace {

TEST(PreloadList, BeginsWithTheUsersLibraries) {
  EXPECT_EQ(preload_list("/lib/ours.so", nullptr), "/lib/ours.so");
  EXPECT_EQ(preload_list("/lib/ours.so", ""), "/lib/ours.so");
  EXPECT_EQ(preload_list("/lib/ours.so", "libasan.so.8 libm.so.6"), "libasan.so.8 libm.so.6:/lib/ours.so");
}

TEST(PreloadList, RefusesAPathThatTheDynamicLinkerWouldSplit) {
  for (const std::string library : {"/home/me/my programs/ours.so", "/mnt/a:b/ours.so"}) {
    try {
      preload_list(library, nullptr);
      ADD_FAILURE() << "accepted " << library;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(library + " into the workers"));
      EXPECT_THAT(error.what(), testing::HasSubstr("build or install Thinpipe in a folder"));
    }
  }
}

}  // namespace
}  // namespace thinpipe::netem
