// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/backends/in_process.hh"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "trainer/base/library_error.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/collectives/algorithms/pipelined.hh"
#include "trainer/collectives/algorithms/tree_sums.hh"
#include "trainer/collectives/arguments.hh"
#include "trainer/collectives/reduce_function.hh"

namespace thinpipe::trainer {

namespace {

std::byte* bytes_of(const torch::Tensor& tensor) {
  return static_cast<std::byte*>(tensor.data_ptr());
}

}  // namespace

class InProcessGroup::State {
 public:
  // One worker's contribution to a call. `call` describes the call and its arguments and must be equal on all
  // workers.
  struct Contribution {
    std::string call;
    torch::Tensor tensor;
    // Copies, because others may still read them after a failed caller has gone.
    std::vector<std::int64_t> send_counts = {};  // for all_to_all_v
    std::vector<std::uint32_t> indices = {};     // for sparse_all_reduce
  };

  State(int world_size, const std::vector<int>& parents)
      : contributions(world_size),
        tree(parents),
        has_tree(!parents.empty()),
        sums(has_tree ? sums_along(parents) : sums_by_rank(world_size)),
        joined_(world_size, false) {
    if (world_size < 1) throw Error(fmt::format("a group needs at least one worker, not {}", world_size));
    if (!parents.empty() && std::cmp_not_equal(parents.size(), world_size)) {
      throw Error(
          fmt::format("a group of {} workers was given a reduction tree of {}", world_size, parents.size()));
    }
  }

  int world_size() const { return static_cast<int>(contributions.size()); }

  void join(int rank) {
    const std::lock_guard lock(mutex_);
    if (rank < 0 || rank >= world_size()) {
      throw Error(fmt::format("join group: rank {} is not below world size {}", rank, world_size()));
    }
    if (joined_[rank]) throw Error(fmt::format("join group: rank {} has already joined", rank));
    joined_[rank] = true;
  }

  // Throws CollectiveError after an abort: others may still be reading the last call's contributions.
  void expect_no_abort(const std::string& call) const {
    const std::lock_guard lock(mutex_);
    throw_if_aborted(call);
  }

  // Returns after all workers have called it. Everything written before the call is visible to all after it.
  void meet(const std::string& call) {
    std::unique_lock lock(mutex_);
    throw_if_aborted(call);
    const std::uint64_t meeting = meetings_;
    if (++present_ == world_size()) {
      present_ = 0;
      ++meetings_;
      changed_.notify_all();
      return;
    }
    changed_.wait(lock, [&] { return meetings_ != meeting || !abort_reason_.empty(); });
    // A completed meeting counts, even if a worker has left since.
    if (meetings_ == meeting) throw_if_aborted(call);
  }

  // `rank`: the rank that caused it, or -1.
  void abort(std::string reason, int rank) {
    const std::lock_guard lock(mutex_);
    if (abort_reason_.empty()) {
      abort_reason_ = std::move(reason);
      first_failed_rank_ = rank;
    }
    changed_.notify_all();
  }

  void post(std::int64_t point_to_point, int to, ReceivedMessage received) {
    const std::lock_guard lock(mutex_);
    messages_[{point_to_point, to}].push_back(std::move(received));
    changed_.notify_all();
  }

  ReceivedMessage take(std::int64_t point_to_point, int rank) {
    std::unique_lock lock(mutex_);
    std::deque<ReceivedMessage>& messages = messages_[{point_to_point, rank}];
    changed_.wait(lock, [&] { return !messages.empty() || !abort_reason_.empty(); });
    // A message that was sent counts, even if its sender has left since.
    if (messages.empty()) throw_if_aborted("receive from any rank");
    ReceivedMessage received = std::move(messages.front());
    messages.pop_front();
    return received;
  }

  int first_failed_rank() const {
    const std::lock_guard lock(mutex_);
    return first_failed_rank_;
  }

  // contributions[r] is written by worker r before a meeting and read by all after it.
  std::vector<Contribution> contributions;
  const std::vector<int> tree;  // parents; empty if unknown
  const bool has_tree;
  const Sums sums;

 private:
  void throw_if_aborted(const std::string& call) const {
    if (!abort_reason_.empty()) throw CollectiveError(fmt::format("{}: {}", call, abort_reason_));
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> joined_;
  std::string abort_reason_;
  int first_failed_rank_ = -1;
  int present_ = 0;
  std::uint64_t meetings_ = 0;
  std::map<std::pair<std::int64_t, int>, std::deque<ReceivedMessage>> messages_;  // by number and receiver
};

class InProcessGroup::Member : public Collective {
 public:
  Member(std::shared_ptr<State> state, int rank)
      : state_(std::move(state)), rank_(rank), farewell_(fmt::format("rank {} has left", rank)) {}
  ~Member() override { state_->abort(std::move(farewell_), rank_); }

  int rank() const override { return rank_; }
  int world_size() const override { return state_->world_size(); }

  void all_reduce(torch::Tensor tensor, Reduction reduction) override {
    if (tensor.numel() == 0) return;
    const std::string call = describe_all_reduce(tensor, reduction);
    together(call, {tensor}, [&] {
      reduce_own_part(reduce_function(tensor.scalar_type(), reduction),
                      check_elements(call, tensor, reduction));
    });
  }

  double all_reduce_quantised_sent_bytes(std::int64_t codes, int largest) const override {
    if (!state_->has_tree) return Collective::all_reduce_quantised_sent_bytes(codes, largest);
    return tree_all_reduce_quantised_sent_bytes(codes, largest, state_->tree);
  }

  bool has_sparse_all_reduce() const override { return state_->has_tree; }

  std::vector<EdgeBytes> sparse_all_reduce(torch::Tensor tensor,
                                           std::span<const std::uint32_t> indices) override {
    if (!state_->has_tree) return Collective::sparse_all_reduce(std::move(tensor), indices);
    const std::string call = describe_sparse_all_reduce(tensor);
    check_indices(call, tensor, indices);
    const torch::Tensor bytes = torch::zeros({2 * world_size()}, torch::kLong);
    together(call, {.tensor = tensor, .indices = indices},
             [&] { sum_own_blocks(elements<std::int64_t>(bytes)); });
    all_reduce(bytes, Reduction::sum);
    return edges_of(rank_, state_->sums, elements<std::int64_t>(bytes));
  }

  void replay_sparse_all_reduce(const SparseAllReduceCall& call) override {
    if (!state_->has_tree) return Collective::replay_sparse_all_reduce(call);
    together(fmt::format("replay a sparse_all_reduce of {}", call.elements), {}, [] {});
  }

  torch::Tensor all_gather_v(const torch::Tensor& input, std::span<const std::int64_t> counts) override {
    torch::Tensor gathered;
    const std::string call = describe_all_gather_v(input, counts);
    together(call, {input}, [&] {
      std::vector<torch::Tensor> inputs;
      for (int r = 0; r < world_size(); ++r) {
        inputs.push_back(state_->contributions[r].tensor);
        check_counts(call, inputs.back(), counts, r, world_size());
      }
      gathered = torch::cat(inputs);
    });
    return gathered;
  }

  torch::Tensor all_to_all_v(const torch::Tensor& input, std::span<const std::int64_t> send_counts,
                             std::span<const std::int64_t> receive_counts) override {
    const std::string call = describe_all_to_all_v(input);
    check_all_to_all(call, input, send_counts, receive_counts, rank_, world_size());
    torch::Tensor received;
    together(call, {input, send_counts}, [&] {
      std::vector<torch::Tensor> parts;
      for (int r = 0; r < world_size(); ++r) {
        const auto& [_, tensor, counts, indices] = state_->contributions[r];
        if (counts[rank_] != receive_counts[r]) {
          throw CollectiveError(fmt::format("{}: rank {} has {} elements for rank {}, which expects {}", call,
                                            r, counts[rank_], rank_, receive_counts[r]));
        }
        const std::int64_t begin = std::accumulate(counts.begin(), counts.begin() + rank_, std::int64_t{0});
        parts.push_back(tensor.narrow(0, begin, counts[rank_]));
      }
      received = torch::cat(parts);
    });
    return received;
  }

  void broadcast(torch::Tensor tensor, int root) override {
    const std::string call = describe_broadcast(tensor, root);
    together(call, {tensor}, [&] {
      check_root(call, root, world_size());
      if (rank_ != root && tensor.numel() > 0) {
        std::memcpy(bytes_of(tensor), bytes_of(state_->contributions[root].tensor), tensor.nbytes());
      }
    });
  }

  std::unique_ptr<PointToPoint> open_point_to_point(std::int64_t /*message_bytes*/) override {
    return std::make_unique<PointToPointMember>(*this, point_to_points_++);
  }

  void barrier() override {
    together("barrier", {}, [] {});
  }

 private:
  class PointToPointMember : public PointToPoint {
   public:
    PointToPointMember(const Member& owner, std::int64_t number)
        : state_(owner.state_), rank_(owner.rank_), number_(number) {}
    void send(int to, const torch::Tensor& message) override {
      state_->post(number_, to, {.from = rank_, .message = message.clone()});
    }
    ReceivedMessage receive() override { return state_->take(number_, rank_); }
    void close() override {}  // sent messages are already at their receivers

   private:
    std::shared_ptr<State> state_;
    int rank_;
    std::int64_t number_;  // every worker opens the same PointToPoint objects in the same order
  };

  struct Brought {
    torch::Tensor tensor;
    std::span<const std::int64_t> send_counts = {};
    std::span<const std::uint32_t> indices = {};
  };

  // Shares this worker's contribution, runs `work` on the contributions of all, and returns when all workers
  // have done so.
  void together(const std::string& call, const Brought& own, const std::function<void()>& work) {
    try {
      if (own.tensor.defined()) check_tensor(call, own.tensor);
      state_->expect_no_abort(call);
      state_->contributions[rank_] = {.call = call,
                                      .tensor = own.tensor,
                                      .send_counts = {own.send_counts.begin(), own.send_counts.end()},
                                      .indices = {own.indices.begin(), own.indices.end()}};
      state_->meet(call);
      check_replicas();
      work();
      state_->meet(call);
      state_->contributions[rank_] = {};
    } catch (const std::exception& error) {
      // The contribution stays, because others may be reading it.
      state_->abort(fmt::format("rank {} failed: {}", rank_, message_of(error)), rank_);
      throw;
    }
  }

  void check_replicas() const {
    const std::string& first = state_->contributions.front().call;
    for (int r = 1; r < world_size(); ++r) {
      const std::string& other = state_->contributions[r].call;
      if (other != first) {
        throw CollectiveError(fmt::format("rank 0 called {}, but rank {} called {}", first, r, other));
      }
    }
  }

  // Worker r reduces the r-th part of all tensors; the last sum is copied to all workers.
  void reduce_own_part(Reduce reduce, std::size_t element_bytes) const {
    const std::vector<State::Contribution>& all = state_->contributions;
    const std::size_t elements = all.front().tensor.nbytes() / element_bytes;
    const std::size_t begin = elements * rank_ / world_size();
    const std::size_t count = elements * (rank_ + 1) / world_size() - begin;
    if (count == 0) return;
    const auto part_of = [&](int rank) { return bytes_of(all[rank].tensor) + begin * element_bytes; };
    for (const Sum& sum : state_->sums) {
      std::vector<const void*> parts;
      for (const int rank : sum.from) parts.push_back(part_of(rank));
      reduce(part_of(sum.into), parts, count);
    }
    const int whole = state_->sums.back().into;
    for (int r = 0; r < world_size(); ++r) {
      if (r != whole) std::memcpy(part_of(r), part_of(whole), count * element_bytes);
    }
  }

  // Sums worker r's part of the blocks; bytes: as in SparseSums.
  void sum_own_blocks(std::span<std::int64_t> bytes) const {
    std::vector<SparseSums::Entries> workers;
    for (const State::Contribution& each : state_->contributions)
      workers.push_back({.vector = floats(each.tensor), .indices = each.indices});
    SparseSums sums(state_->sums, std::move(workers), bytes);
    const std::size_t end = sums.blocks() * (rank_ + 1) / world_size();
    for (std::size_t b = sums.blocks() * rank_ / world_size(); b < end; ++b) sums.sum(b);
  }

  std::shared_ptr<State> state_;
  int rank_;
  std::int64_t point_to_points_ = 0;
  std::string farewell_;  // built in advance: the destructor must not fail
};

InProcessGroup::InProcessGroup(int world_size, const std::vector<int>& parents)
    : state_(std::make_shared<State>(world_size, parents)) {}

std::unique_ptr<Collective> InProcessGroup::join(int rank) {
  state_->join(rank);
  return std::make_unique<Member>(state_, rank);
}

void InProcessGroup::abort(const std::string& reason) {
  state_->abort(reason, -1);
}

int InProcessGroup::first_failed_rank() const {
  return state_->first_failed_rank();
}

void run_in_process(int world_size, const std::function<void(Collective&)>& worker) {
  run_in_process(world_size, {}, [&](std::unique_ptr<Collective> member) { worker(*member); });
}

void run_in_process(int world_size, const std::function<void(std::unique_ptr<Collective>)>& worker) {
  run_in_process(world_size, {}, worker);
}

void run_in_process(int world_size, const std::vector<int>& parents,
                    const std::function<void(std::unique_ptr<Collective>)>& worker) {
  InProcessGroup group(world_size, parents);
  std::vector<std::exception_ptr> failures(world_size);
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < world_size; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          worker(group.join(rank));
        } catch (...) {
          failures[rank] = std::current_exception();
        }
      });
    }
  }
  const int first_failed_rank = group.first_failed_rank();
  if (first_failed_rank >= 0 && failures[first_failed_rank])
    std::rethrow_exception(failures[first_failed_rank]);
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace thinpipe::trainer
