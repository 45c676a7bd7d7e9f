// SPDX-License-Identifier: Apache-2.0
#include "trainer/base/process.hh"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "trainer/base/tensors.hh"

namespace thinpipe::trainer {
namespace {

// The address sanitizer has its own allocator, so this test is for other builds, such as that of
// scripts/check_pytorch.sh.
#if !defined(__SANITIZE_ADDRESS__)

std::int64_t page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

// 24 MiB are 6144 pages. At first, small allocations of others may fill gaps between large ones, so that the
// heap grows once more.
TEST(KeptMemory, IsNotFetchedFromTheKernelAgain) {
  keep_freed_memory();
  const auto use = [] { torch::ones({6, 1 << 20}); };
  for (int i = 0; i < 20; ++i) use();
  const std::int64_t before = page_faults();
  for (int i = 0; i < 10; ++i) use();
  EXPECT_LT(page_faults() - before, 6144);
}

#endif

TEST(Process, KnowsTheMostMemoryThatItHasHeld) {
  const std::int64_t before = peak_memory_bytes();
  constexpr std::int64_t more_bytes = std::int64_t{256} << 20;
  const torch::Tensor held = torch::ones({more_bytes / 4});
  EXPECT_GE(peak_memory_bytes(), held.nbytes());
  EXPECT_GE(peak_memory_bytes(), before);
}

}  // namespace
}  // namespace thinpipe::trainer
