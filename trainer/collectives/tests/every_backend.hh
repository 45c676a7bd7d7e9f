// SPDX-License-Identifier: Apache-2.0
// The fixture of tests that every backend must pass, with several numbers of workers.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trainer/collectives/tests/world.hh"

namespace thinpipe::trainer {

inline constexpr std::int64_t small_sizes[] = {0, 1, 2, 3, 7, 8, 9, 255, 256, 257, 1023, 1025};
inline constexpr std::int64_t large_size = (1 << 18) + 7;  // hundreds of chunks

struct World {
  std::string backend;
  int size;
};

class CollectiveTest : public ::testing::TestWithParam<World> {
 protected:
  static void run(const std::function<void(Collective&)>& worker) {
    testing::run_world(GetParam().backend, GetParam().size, worker);
  }
  static std::vector<std::int64_t> sizes() {
    std::vector<std::int64_t> out(std::begin(small_sizes), std::end(small_sizes));
    if (GetParam().size == 2 || GetParam().size == 3) out.push_back(large_size);
    return out;
  }
};

// Caches inputs and expected results; the first worker of the first case that needs one computes it. Without
// the cache most of this program's time is spent on memory that AddressSanitizer returns to the kernel and
// takes again. The tensors must not be changed.
inline torch::Tensor once(const std::string& key, const std::function<torch::Tensor()>& make) {
  static std::recursive_mutex mutex;
  static std::map<std::string, torch::Tensor> made;
  const std::lock_guard lock(mutex);
  torch::Tensor& tensor = made[key];
  if (!tensor.defined()) tensor = make();
  return tensor;
}

// Element i of rank r is a small integer, |value| <= 8. Every dtype then holds every partial sum exactly, and
// the result does not depend on the order of summation.
inline torch::Tensor input(int rank, std::int64_t elements, torch::ScalarType type) {
  return once(fmt::format("input {} {} {}", rank, elements, c10::toString(type)), [&] {
    const torch::Tensor i = torch::arange(elements, torch::kInt64);
    return (torch::remainder(i * (rank + 1) + rank, 17) - 8).to(type);
  });
}

inline std::string name(const char* operation, std::int64_t elements, torch::ScalarType type) {
  return fmt::format("{} of {} x {}", operation, elements, c10::toString(type));
}

}  // namespace thinpipe::trainer
