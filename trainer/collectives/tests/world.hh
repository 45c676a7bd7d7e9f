// Worlds of workers for tests and benchmarks: a thread each, over any backend.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include <xxhash.h>

#include "trainer/collectives/in_process.hh"
#include "trainer/collectives/tests/nccl_stand_in.hh"

namespace thinpipe::trainer::testing {

// A fresh directory, removed with its contents.
class TemporaryDirectory {
 public:
  TemporaryDirectory() : path_(std::filesystem::temp_directory_path() / "thinpipe-rendezvous-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) throw SystemError("make directory " + path_, errno);
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  TemporaryDirectory(TemporaryDirectory&&) = delete;
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A network backend; `options` replaces some of its defaults.
inline std::unique_ptr<Collective> join(const std::string& backend, const Membership& membership,
                                        Json options = Json::object()) {
  options["name"] = backend;
  return CollectiveRegistry::instance().make(options, Place{"test", ""}, membership);
}
inline std::unique_ptr<Collective> join_gloo(const Membership& membership, Json options = Json::object()) {
  return join("gloo", membership, std::move(options));
}

// The paper's 3 + 2 + 3 as netem/worker_tree.hh makes a tree of it; of other sizes, as of an unknown network.
inline std::vector<int> parents_for(int world_size) {
  return world_size == 8 ? std::vector{4, 0, 0, -1, 3, 3, 5, 5} : std::vector<int>{};
}

// run_in_process, over 127.0.0.1. Throws what the first worker to fail threw.
inline void run_over_network(const std::string& backend, int world_size,
                             const std::function<void(Collective&)>& worker) {
  const TemporaryDirectory directory;
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
                                 .parents = parents_for(world_size)}));
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!first_failure) first_failure = std::current_exception();
        }
      });
    }
  }
  if (first_failure) std::rethrow_exception(first_failure);
}

// `backend`: "in_process", a network backend's name, or "nccl_stand_in": the "nccl" backend over main memory,
// or "nccl_tree_stand_in": along a tree.
inline void run_world(const std::string& backend, int world_size,
                      const std::function<void(Collective&)>& worker) {
  if (backend == "in_process") {
    run_in_process(world_size, worker);
  } else if (backend == "nccl_stand_in" || backend == "nccl_tree_stand_in") {
    const Membership membership{.world_size = world_size, .parents = parents_for(world_size)};
    const bool along_tree = backend == "nccl_tree_stand_in";
    run_nccl_stand_in(world_size, along_tree ? membership.tree() : std::vector<int>(),
                      [&](Collective& net, NcclStandIn& /*gpu*/) { worker(net); });
  } else {
    run_over_network(backend, world_size, worker);
  }
}

// Whether `tensor` has the same bytes on every worker.
inline bool identical_on_all(Collective& net, const torch::Tensor& tensor) {
  const auto hash = static_cast<std::int64_t>(XXH3_64bits(tensor.data_ptr(), tensor.nbytes()));
  const std::vector<std::int64_t> counts(net.world_size(), 1);
  const torch::Tensor hashes = net.all_gather_v(torch::full({1}, hash, torch::kInt64), counts);
  return (hashes == hashes[0]).all().item<bool>();
}

}  // namespace thinpipe::trainer::testing
