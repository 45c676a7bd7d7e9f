// SPDX-License-Identifier: Apache-2.0
#include "trainer/python/extension/process_group_collective.hh"

#include <fmt/format.h>
#include <torch/extension.h>

#include "trainer/collectives/arguments.hh"
#include "trainer/python/extension/python_call.hh"

namespace thinpipe::trainer::python {
namespace {

std::vector<std::int64_t> copy_of(std::span<const std::int64_t> counts) {
  return {counts.begin(), counts.end()};
}

// Runs `operation` with the interpreter's lock. An exception of Python becomes a CollectiveError that names
// the call.
template <class Operation>
auto attempt(const std::string& call, const Operation& operation) {
  const py::gil_scoped_acquire acquired;
  try {
    return operation();
  } catch (const py::error_already_set& error) {
    throw CollectiveError(fmt::format("{} over the process group: {}", call, error.what()));
  }
}

// Messages among the workers; the object is a thinpipe.process_group.Messages.
class ProcessGroupPointToPoint : public PointToPoint {
 public:
  explicit ProcessGroupPointToPoint(std::unique_ptr<SharedObject> messages)
      : messages_(std::move(messages)) {}

  void send(int to, const torch::Tensor& message) override {
    attempt(fmt::format("send to rank {}", to), [&] { messages_->get().attr("send")(to, message); });
  }

  ReceivedMessage receive() override {
    return attempt("receive from any rank", [&] {
      const auto [from, message] = messages_->get().attr("receive")().cast<std::pair<int, torch::Tensor>>();
      return ReceivedMessage{.from = from, .message = message};
    });
  }

  void close() override {
    attempt("close a mailbox", [&] { messages_->get().attr("close")(); });
  }

 private:
  std::unique_ptr<SharedObject> messages_;
};

class ProcessGroupCollective : public Collective {
 public:
  explicit ProcessGroupCollective(py::object group)
      : rank_(group.attr("rank").cast<int>()),
        world_size_(group.attr("world_size").cast<int>()),
        group_(std::move(group)) {}

  int rank() const override { return rank_; }
  int world_size() const override { return world_size_; }

  void all_reduce(torch::Tensor tensor, Reduction reduction) override {
    const std::string call = describe_all_reduce(tensor, reduction);
    check_tensor(call, tensor);
    refuse_scaled_sum(call, reduction);
    if (tensor.numel() == 0 || world_size_ == 1) return;
    attempt(call, [&] { group_.get().attr("all_reduce")(tensor, reduction == Reduction::max); });
  }

  torch::Tensor all_gather_v(const torch::Tensor& input, std::span<const std::int64_t> counts) override {
    const std::string call = describe_all_gather_v(input, counts);
    check_tensor(call, input);
    check_counts(call, input, counts, rank_, world_size_);
    if (world_size_ == 1) return input.clone();
    return attempt(call, [&] {
      return group_.get().attr("all_gather_v")(input, copy_of(counts)).cast<torch::Tensor>();
    });
  }

  torch::Tensor all_to_all_v(const torch::Tensor& input, std::span<const std::int64_t> send_counts,
                             std::span<const std::int64_t> receive_counts) override {
    const std::string call = describe_all_to_all_v(input);
    check_tensor(call, input);
    check_all_to_all(call, input, send_counts, receive_counts, rank_, world_size_);
    if (world_size_ == 1) return input.clone();
    return attempt(call, [&] {
      return group_.get()
          .attr("all_to_all_v")(input, copy_of(send_counts), copy_of(receive_counts))
          .cast<torch::Tensor>();
    });
  }

  void broadcast(torch::Tensor tensor, int root) override {
    const std::string call = describe_broadcast(tensor, root);
    check_tensor(call, tensor);
    check_root(call, root, world_size_);
    if (world_size_ == 1) return;
    attempt(call, [&] { group_.get().attr("broadcast")(tensor, root); });
  }

  std::unique_ptr<PointToPoint> open_point_to_point(std::int64_t message_bytes) override {
    return attempt("open a mailbox", [&] {
      return std::make_unique<ProcessGroupPointToPoint>(
          std::make_unique<SharedObject>(group_.get().attr("open_messages")(message_bytes)));
    });
  }

  void barrier() override {
    if (world_size_ == 1) return;
    attempt("barrier", [&] { group_.get().attr("barrier")(); });
  }

 private:
  int rank_;
  int world_size_;
  SharedObject group_;
};

}  // namespace

std::unique_ptr<Collective> make_process_group_collective(py::object group) {
  return std::make_unique<ProcessGroupCollective>(std::move(group));
}

}  // namespace thinpipe::trainer::python
