// SPDX-License-Identifier: Apache-2.0
#include "harness/simulation/cores.hh"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

using Priority = Cores::Priority;

// Returns when each job ends. All start at once.
std::map<std::size_t, double> ends(Cores& cores) {
  std::map<std::size_t, double> out;
  double now_s = 0;
  while (std::isfinite(cores.next_completion_s())) {
    const double passes_s = cores.next_completion_s();
    now_s += passes_s;
    for (const std::size_t id : cores.advance(passes_s)) out[id] = now_s;
  }
  return out;
}

TEST(Cores, AJobAloneTakesItsTimeHoweverManyCoresThereAre) {
  Cores cores(8);
  cores.start(2, Priority::compute, 0);
  EXPECT_EQ(ends(cores)[0], 2);
}

TEST(Cores, JobsOfAPriorityShareEqually) {
  Cores cores(1);
  cores.start(1, Priority::compute, 0);
  cores.start(2, Priority::compute, 1);
  EXPECT_EQ(ends(cores), (std::map<std::size_t, double>{{0, 2}, {1, 3}}));
}

TEST(Cores, AHigherPriorityGoesFirst) {
  Cores cores(1);
  cores.start(1, Priority::compute, 0);
  cores.start(2, Priority::network, 1);
  cores.start(4, Priority::communication, 2);
  EXPECT_EQ(ends(cores), (std::map<std::size_t, double>{{1, 2}, {2, 6}, {0, 7}}));
}

TEST(Cores, ALowerPriorityGetsTheCoresThatAreLeft) {
  Cores cores(2);
  cores.start(3, Priority::network, 0);
  cores.start(1, Priority::compute, 1);
  cores.start(1, Priority::compute, 2);
  EXPECT_EQ(ends(cores), (std::map<std::size_t, double>{{0, 3}, {1, 2}, {2, 2}}));
}

TEST(Cores, AJobInterruptedByOthersKeepsWhatItHas) {
  Cores cores(1);
  cores.start(2, Priority::compute, 0);
  EXPECT_TRUE(cores.advance(1).empty());
  cores.start(5, Priority::network, 1);
  EXPECT_EQ(ends(cores), (std::map<std::size_t, double>{{1, 5}, {0, 6}}));
}

TEST(Cores, AJobWithoutWorkEndsAtOnce) {
  Cores cores(1);
  cores.start(0, Priority::compute, 0);
  cores.start(1, Priority::network, 1);
  EXPECT_EQ(ends(cores), (std::map<std::size_t, double>{{0, 0}, {1, 1}}));
}

// Whatever the jobs: they get the CPU time that they need, no more than there is, and no core idles meanwhile.
TEST(Cores, CpuTimeIsConserved) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> time_s(0, 1);
  for (const double count : {1.0, 2.0, 3.5}) {
    Cores cores(count);
    double work_s = 0;
    double longest_s = 0;
    for (std::size_t id = 0; id < 100; ++id) {
      const double cpu_s = time_s(random);
      work_s += cpu_s;
      longest_s = std::max(longest_s, cpu_s);
      cores.start(cpu_s, static_cast<Priority>(id % 3), id);
    }
    const std::map<std::size_t, double> ended = ends(cores);
    EXPECT_EQ(ended.size(), 100U);
    EXPECT_NEAR(cores.used_s(), work_s, 1e-9);
    double last_s = 0;
    for (const auto& [id, end_s] : ended) last_s = std::max(last_s, end_s);
    EXPECT_GE(last_s, work_s / count - 1e-9);
    EXPECT_LE(last_s, work_s / count + longest_s);
  }
}

}  // namespace
}  // namespace thinpipe
