// SPDX-License-Identifier: Apache-2.0
#include "common/support/parallel.hh"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace thinpipe {
namespace {

// More threads would only wait for the same disk.
constexpr std::size_t max_threads = 8;

}  // namespace

void in_parallel(std::size_t count, const std::function<void(std::size_t)>& act) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex failure_lock;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        act(i);
      } catch (...) {
        const std::scoped_lock held(failure_lock);
        if (!failure) failure = std::current_exception();
        next = count;
      }
    }
  };
  {
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < std::min({cores, count, max_threads}); ++i) threads.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace thinpipe
