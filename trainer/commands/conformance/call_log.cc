// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/conformance/call_log.hh"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trainer/collectives/arguments.hh"

namespace thinpipe::trainer {

void CallLog::set(int rank, std::string doing) {
  const std::lock_guard lock(mutex_);
  doing_.at(static_cast<std::size_t>(rank)) = std::move(doing);
  ++changes_;
}

std::string CallLog::describe() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> out;
  for (std::size_t rank = 0; rank < doing_.size(); ++rank) {
    out.push_back(fmt::format("worker {} {}", rank, doing_[rank]));
  }
  return fmt::format("{}", fmt::join(out, "; "));
}

std::int64_t CallLog::changes() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

auto LoggedCollective::logged(const std::string& call, const auto& action) {
  struct ComputesAgain {
    LoggedCollective& self;
    std::string call;
    int exceptions = std::uncaught_exceptions();
    ~ComputesAgain() {
      if (std::uncaught_exceptions() > exceptions) return;
      self.log_.set(self.rank(), fmt::format("is in the method's code, after {}", call));
    }
  };
  log_.set(rank(), fmt::format("waits in {}", call));
  const ComputesAgain after{*this, call};
  return action();
}

void LoggedCollective::all_reduce(torch::Tensor tensor, Reduction reduction) {
  logged(describe_all_reduce(tensor, reduction), [&] { Borrowed::all_reduce(tensor, reduction); });
}

void LoggedCollective::all_reduce_quantised(torch::Tensor codes, int largest, const CodeChunks& chunks) {
  logged(fmt::format("all_reduce_quantised of {} codes", codes.numel()),
         [&] { Borrowed::all_reduce_quantised(codes, largest, chunks); });
}

std::vector<EdgeBytes> LoggedCollective::sparse_all_reduce(torch::Tensor tensor,
                                                           std::span<const std::uint32_t> indices) {
  return logged(describe_sparse_all_reduce(tensor),
                [&] { return Borrowed::sparse_all_reduce(tensor, indices); });
}

torch::Tensor LoggedCollective::all_gather_v(const torch::Tensor& input,
                                             std::span<const std::int64_t> counts) {
  return logged(describe_all_gather_v(input, counts), [&] { return Borrowed::all_gather_v(input, counts); });
}

torch::Tensor LoggedCollective::all_to_all_v(const torch::Tensor& input,
                                             std::span<const std::int64_t> send_counts,
                                             std::span<const std::int64_t> receive_counts) {
  return logged(describe_all_to_all_v(input),
                [&] { return Borrowed::all_to_all_v(input, send_counts, receive_counts); });
}

void LoggedCollective::broadcast(torch::Tensor tensor, int root) {
  logged(describe_broadcast(tensor, root), [&] { Borrowed::broadcast(tensor, root); });
}

void LoggedCollective::meet_after_step() {
  log_.set(rank(), "has returned from synchronise()");
  barrier();
}

}  // namespace thinpipe::trainer
