// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/conformance/connected.hh"

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "trainer/collectives/backends/in_process.hh"
#include "trainer/commands/conformance/conformance.hh"

namespace thinpipe::trainer::testing {
namespace {

// Where workers of a network backend find each other; removed at the end.
class RendezvousFolder {
 public:
  RendezvousFolder() : path_(std::filesystem::temp_directory_path() / "thinpipe-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) throw SystemError("make the folder " + path_, errno);
  }
  ~RendezvousFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  RendezvousFolder(const RendezvousFolder&) = delete;
  RendezvousFolder& operator=(const RendezvousFolder&) = delete;
  RendezvousFolder(RendezvousFolder&&) = delete;
  RendezvousFolder& operator=(RendezvousFolder&&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::unique_ptr<Collective> join(const Workers& workers, int rank, const RendezvousFolder& rendezvous) {
  const Json options = {{"name", workers.backend}};
  return CollectiveRegistry::instance().make(options, {"collective", ""},
                                             {.rank = rank,
                                              .world_size = workers.count,
                                              .address = "127.0.0.1",
                                              .rendezvous_directory = rendezvous.path(),
                                              .reduction_tree = workers.reduction_tree});
}

}  // namespace

void run_connected(const Workers& workers, const std::function<void(Collective&)>& worker) {
  if (workers.backend == "in_process") {
    run_in_process(workers.count, worker);
    return;
  }
  const RendezvousFolder rendezvous;
  std::mutex mutex;
  std::exception_ptr first_failure;
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < workers.count; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          worker(*join(workers, rank, rendezvous));
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!first_failure) first_failure = std::current_exception();
        }
      });
    }
  }
  if (first_failure) std::rethrow_exception(first_failure);
}

}  // namespace thinpipe::trainer::testing
