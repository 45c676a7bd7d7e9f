// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/backends/gloo.hh"

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <new>
#include <set>
#include <thread>

#include <ATen/Parallel.h>
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/support/tests/temporary_folder.hh"
#include "trainer/collectives/tests/world.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::HasSubstr;
using testing::join_gloo;
using ::testing::StartsWith;

// Runs `worker` in a forked process, whose exit status is the returned value; 99 if it threw.
pid_t fork_worker(const std::function<int()>& worker) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A forked child does not have the process's other compute threads, but would wait for them.
  at::set_num_threads(1);
  int code = 99;
  try {
    code = worker();
  } catch (const std::exception& error) {
    fmt::print(stderr, "forked worker: {}\n", error.what());
  }
  _exit(code);
}

std::string wait_for(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                             : fmt::format("exit {}", WEXITSTATUS(status));
}

std::vector<std::string> run_processes(int world_size,
                                       const std::function<int(const GroupOptions&)>& worker) {
  const TemporaryFolder directory;
  std::vector<pid_t> pids;
  for (int rank = 0; rank < world_size; ++rank) {
    pids.push_back(fork_worker([&] { return worker({rank, world_size, "127.0.0.1", directory.path()}); }));
  }
  std::vector<std::string> endings;
  for (const pid_t pid : pids) endings.push_back(wait_for(pid));
  return endings;
}

TEST(GlooProcesses, ReduceAcrossProcesses) {
  const std::vector<std::string> endings = run_processes(3, [](const GroupOptions& group_options) {
    const std::unique_ptr<Collective> net = join_gloo(group_options);
    torch::Tensor tensor = torch::full({1000}, group_options.rank + 1, torch::kFloat16);
    net->all_reduce(tensor, Reduction::sum);
    net->barrier();
    return (tensor == 6).all().item<bool>() ? 0 : 1;
  });
  EXPECT_THAT(endings, ::testing::Each("exit 0"));
}

// A number in memory shared by forked processes.
class SharedCounter {
 public:
  SharedCounter()
      : page_(mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                   0)) {
    if (page_ == MAP_FAILED) throw SystemError("map shared memory", errno);
    count_ = new (page_) std::atomic<int>(0);
  }
  ~SharedCounter() { munmap(page_, sizeof(std::atomic<int>)); }
  SharedCounter(const SharedCounter&) = delete;
  SharedCounter& operator=(const SharedCounter&) = delete;
  SharedCounter(SharedCounter&&) = delete;
  SharedCounter& operator=(SharedCounter&&) = delete;

  void increase() { ++*count_; }
  void wait_for(int count) const {
    while (*count_ < count) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  void* page_;
  std::atomic<int>* count_ = nullptr;
};

// Most survivors get the error at once, the others after the time-out (gloo.hh explains why). Survivors keep
// their ends open until all have failed, so that no departure of another survivor causes the error.
TEST(GlooProcesses, APeersDeathIsAnErrorOfEverySurvivor) {
  const auto call_forever = [](Collective& net, int step) {
    torch::Tensor tensor = torch::zeros(10000);
    const std::vector<std::int64_t> counts(net.world_size(), 5000);
    if (step % 4 == 0) net.all_reduce(tensor, Reduction::sum);
    if (step % 4 == 1) net.all_gather_v(tensor.slice(0, 0, 5000), counts);
    if (step % 4 == 2) net.broadcast(tensor, step % net.world_size());
    if (step % 4 == 3) net.barrier();
  };
  for (int repetition = 0; repetition < 5; ++repetition) {
    SharedCounter failed;
    const std::vector<std::string> endings = run_processes(4, [&](const GroupOptions& group_options) {
      const std::unique_ptr<Collective> net = join_gloo(group_options, {{"timeout", "3 s"}});
      std::jthread killer;
      if (group_options.rank == 2) {
        killer = std::jthread([] {
          std::this_thread::sleep_for(std::chrono::milliseconds(30));
          kill(getpid(), SIGKILL);
        });
      }
      try {
        for (int step = 0;; ++step) call_forever(*net, step);
      } catch (const CollectiveError& error) {
        failed.increase();
        failed.wait_for(3);
        const std::string message = error.what();
        const bool names_the_call =
            message.find(fmt::format(" on rank {} of 4: ", group_options.rank)) != std::string::npos;
        // Every later call fails as well.
        try {
          net->barrier();
        } catch (const CollectiveError&) {
          return names_the_call ? 0 : 1;
        }
        return 2;
      }
    });
    EXPECT_THAT(endings, ::testing::ElementsAre("exit 0", "exit 0", "signal 9", "exit 0"));
  }
}

// Runs every worker on its own thread; returns the messages of their CollectiveErrors.
std::vector<std::string> errors_of(int world_size, const std::function<void(int rank)>& worker) {
  std::vector<std::string> messages(world_size);
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < world_size; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          worker(rank);
        } catch (const CollectiveError& error) {
          messages[rank] = error.what();
        }
      });
    }
  }
  return messages;
}

TEST(Gloo, ASilentPeerIsATimeout) {
  const TemporaryFolder directory;
  const auto messages = errors_of(2, [&](int rank) {
    const auto net = join_gloo({rank, 2, "127.0.0.1", directory.path()}, {{"timeout", "300 ms"}});
    torch::Tensor tensor = torch::zeros(10);
    if (rank == 0) {
      net->all_reduce(tensor, Reduction::sum);
    } else {
      std::this_thread::sleep_for(std::chrono::seconds(2));
    }
  });
  EXPECT_THAT(messages[0], StartsWith("all_reduce sum of 10 x Float on rank 0 of 2: "));
  EXPECT_THAT(messages[0], HasSubstr("Timed out"));
  EXPECT_EQ(messages[1], "");
}

TEST(Gloo, AMissingPeerIsATimeoutOfTheConnection) {
  const TemporaryFolder directory;
  const auto messages = errors_of(1, [&](int) {
    join_gloo({0, 2, "127.0.0.1", directory.path()}, {{"timeout", "200 ms"}});
  });
  EXPECT_THAT(messages[0], StartsWith(fmt::format("connect at 127.0.0.1 through {} on rank 0 of 2: ",
                                                  directory.path().string())));
}

TEST(Gloo, RefusesAnAddressThatIsNotThisHosts) {
  const TemporaryFolder directory;
  // 192.0.2.0/24 is reserved for documentation.
  const auto messages = errors_of(1, [&](int) { join_gloo({0, 2, "192.0.2.1", directory.path()}); });
  EXPECT_THAT(messages[0], StartsWith("connect at 192.0.2.1 "));
  EXPECT_THAT(messages[0], HasSubstr("bind to 192.0.2.1: Cannot assign requested address"));
}

TEST(Gloo, RefusesADirectoryThatIsNotThere) {
  const auto messages = errors_of(1, [&](int) { join_gloo({0, 2, "127.0.0.1", "/nonexistent/rendezvous"}); });
  EXPECT_THAT(messages[0], HasSubstr("/nonexistent/rendezvous"));
}

TEST(Gloo, RefusesRanksOutsideTheWorld) {
  EXPECT_THROW(join_gloo({2, 2, "127.0.0.1", "/tmp"}), CollectiveError);
}

TEST(Gloo, RefusesOptionsItDoesNotHave) {
  EXPECT_THROW(join_gloo({0, 1, "127.0.0.1", "/tmp"}, {{"time_out", "1 s"}}), InputError);
  EXPECT_THROW(join_gloo({0, 1, "127.0.0.1", "/tmp"}, {{"timeout", "0 s"}}), InputError);
}

// Returns the IPv4 addresses, own and peer's, of this process's sockets.
std::set<std::string> socket_addresses() {
  std::set<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    for (const auto lookup : {getsockname, getpeername}) {
      sockaddr_in address{};
      socklen_t length = sizeof address;
      if (lookup(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0 || address.sin_family != AF_INET)
        continue;
      char text[INET_ADDRSTRLEN];
      out.insert(inet_ntop(AF_INET, &address.sin_addr, text, sizeof text));
    }
  }
  return out;
}

TEST(Gloo, TalksThroughItsOwnAddress) {
  const TemporaryFolder directory;
  std::set<std::string> seen;
  const auto messages = errors_of(3, [&](int rank) {
    const auto net = join_gloo({rank, 3, fmt::format("127.0.0.{}", rank + 11), directory.path()});
    net->barrier();
    if (rank == 0) seen = socket_addresses();
    net->barrier();
  });
  EXPECT_THAT(messages, ::testing::Each(""));
  // Each pair of workers has one connection, made to the address of one of the two. So at least two of the
  // three addresses appear.
  int own = 0;
  for (int rank = 0; rank < 3; ++rank)
    own += static_cast<int>(seen.contains(fmt::format("127.0.0.{}", rank + 11)));
  EXPECT_GE(own, 2) << fmt::format("{}", fmt::join(seen, " "));
}

// Returns how many of this process's sockets listen.
int listening_sockets() {
  int out = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    int listens = 0;
    socklen_t size = sizeof listens;
    if (getsockopt(std::stoi(entry.path().filename()), SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0)
      out += listens;
  }
  return out;
}

TEST(Gloo, ListensToNobodyOnceItIsConnected) {
  const TemporaryFolder directory;
  const auto messages = errors_of(3, [&](int rank) {
    const auto net = join_gloo({rank, 3, "127.0.0.1", directory.path()});
    net->barrier();
    EXPECT_EQ(listening_sockets(), 0);
    net->barrier();
  });
  EXPECT_THAT(messages, ::testing::Each(""));
}

std::size_t thread_count() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

// Returns the number of this process's threads that block SIGPIPE.
int threads_that_block_sigpipe() {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (!line.starts_with("SigBlk:")) continue;
      const std::uint64_t blocked = std::stoull(line.substr(7), nullptr, 16);
      count += static_cast<int>(blocked >> static_cast<unsigned>(SIGPIPE - 1) & 1U);
    }
  }
  return count;
}

// Otherwise a peer's end could kill this process, also in Gloo's thread.
TEST(Gloo, ItsThreadBlocksSigpipeAndTheCallersDoesNot) {
  const auto endings = run_processes(2, [](const GroupOptions& group_options) {
    const int before = threads_that_block_sigpipe();
    const auto net = join_gloo(group_options);
    net->barrier();
    return threads_that_block_sigpipe() == before + 1 ? 0 : 1;
  });
  EXPECT_THAT(endings, ::testing::Each("exit 0"));
}

// Then a caller that lowers its own priority afterwards does not change that thread's.
TEST(Gloo, TheConstructorStartsTheOnlyThread) {
  const auto endings = run_processes(2, [](const GroupOptions& group_options) {
    torch::Tensor tensor = torch::zeros(1 << 20).add_(1);  // LibTorch starts its own threads
    const std::size_t before = thread_count();
    const auto net = join_gloo(group_options);
    const std::size_t constructed = thread_count();
    net->all_reduce(tensor, Reduction::sum);
    net->broadcast(tensor, 1);
    net->barrier();
    return constructed == before + 1 && thread_count() == constructed ? 0 : 1;
  });
  EXPECT_THAT(endings, ::testing::Each("exit 0"));
}

// LibTorch may contain another Gloo: our calls must reach the library whose headers we were built with.
TEST(Gloo, CallsReachTheSystemsGloo) {
  EXPECT_THAT(std::filesystem::path(gloo_library_path()).filename().string(), StartsWith("libgloo.so"));
  EXPECT_THAT(gloo_version(), ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace thinpipe::trainer
