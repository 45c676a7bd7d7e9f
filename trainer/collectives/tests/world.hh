// SPDX-License-Identifier: Apache-2.0
// Groups of workers for tests and benchmarks: one thread per worker, over any backend.
#pragma once

#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include <xxhash.h>

#include "common/support/tests/temporary_folder.hh"
#include "trainer/collectives/backends/in_process.hh"
#include "trainer/collectives/backends/tests/nccl_stand_in.hh"
#include "trainer/collectives/tests/reduction_tree.hh"

namespace thinpipe::trainer::testing {

// Creates a network backend; `options` replaces some of its defaults.
inline std::unique_ptr<Collective> join(const std::string& backend, const GroupOptions& group_options,
                                        Json options = Json::object()) {
  options["name"] = backend;
  return CollectiveRegistry::instance().make(options, Place{"test", ""}, group_options);
}
inline std::unique_ptr<Collective> join_gloo(const GroupOptions& group_options,
                                             Json options = Json::object()) {
  return join("gloo", group_options, std::move(options));
}

// Like run_in_process(), over 127.0.0.1. Throws the exception of the first worker that fails.
inline void run_over_network(const std::string& backend, int world_size,
                             const std::function<void(Collective&)>& worker) {
  const TemporaryFolder directory;
  std::mutex mutex;
  std::exception_ptr first_failure;
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < world_size; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          worker(*join(backend, {.rank = rank,
                                 .world_size = world_size,
                                 .address = "127.0.0.1",
                                 .rendezvous_directory = directory.path(),
                                 .reduction_tree = reduction_tree_for(world_size)}));
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!first_failure) first_failure = std::current_exception();
        }
      });
    }
  }
  if (first_failure) std::rethrow_exception(first_failure);
}

// `backend`: "in_process"; a network backend's name; "nccl_stand_in", the "nccl" backend over main memory; or
// "nccl_tree_stand_in", the same along a tree.
inline void run_world(const std::string& backend, int world_size,
                      const std::function<void(Collective&)>& worker) {
  if (backend == "in_process") {
    run_in_process(world_size, worker);
  } else if (backend == "nccl_stand_in" || backend == "nccl_tree_stand_in") {
    const GroupOptions group_options{.world_size = world_size,
                                     .reduction_tree = reduction_tree_for(world_size)};
    const bool along_tree = backend == "nccl_tree_stand_in";
    run_nccl_stand_in(world_size, along_tree ? group_options.reduction_tree_or_binary() : std::vector<int>(),
                      [&](Collective& net, NcclStandIn& /*gpu*/) { worker(net); });
  } else {
    run_over_network(backend, world_size, worker);
  }
}

// Returns whether `tensor` has the same bytes on every worker.
inline bool identical_on_all(Collective& net, const torch::Tensor& tensor) {
  const auto hash = static_cast<std::int64_t>(XXH3_64bits(tensor.data_ptr(), tensor.nbytes()));
  const std::vector<std::int64_t> counts(net.world_size(), 1);
  const torch::Tensor hashes = net.all_gather_v(torch::full({1}, hash, torch::kInt64), counts);
  return (hashes == hashes[0]).all().item<bool>();
}

}  // namespace thinpipe::trainer::testing
