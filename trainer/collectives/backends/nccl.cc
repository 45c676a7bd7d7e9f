// SPDX-License-Identifier: Apache-2.0
// Tensors may be on the worker's GPU, where they stay, or in main memory, from where they are copied to the
// GPU and back. An all-reduce is NCCL's ring (nccl/cuda_group.cc), or sends and receives along a tree
// (tree_plan.hh). An all-gather is a broadcast of each worker's part; an all-to-all is sends and receives.
// Sums of float16 and bfloat16 round at every hop.
#include "trainer/collectives/backends/nccl.hh"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <torch/cuda.h>

#include "trainer/base/device.hh"
#include "trainer/base/library_error.hh"
#include "trainer/collectives/algorithms/pipelined.hh"
#include "trainer/collectives/algorithms/tree_plan.hh"
#include "trainer/collectives/arguments.hh"
#include "trainer/collectives/reduce_function.hh"

namespace thinpipe::trainer {
namespace {

std::span<std::byte> memory_of(const torch::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.data_ptr()), tensor.nbytes()};
}

std::int64_t count_in(std::span<const std::int64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

// Returns the non-empty parts of consecutive data for ranks 0, 1 and so on, beginning at `data`.
std::vector<NcclGroup::Block> blocks_in(std::byte* data, std::span<const std::int64_t> counts,
                                        std::size_t element_bytes) {
  std::vector<NcclGroup::Block> parts;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    const std::size_t bytes = static_cast<std::size_t>(counts[rank]) * element_bytes;
    if (bytes > 0) parts.push_back({.data = data, .bytes = bytes, .rank = static_cast<int>(rank)});
    data += bytes;
  }
  return parts;
}

class NcclCollective : public Collective {
 public:
  NcclCollective(std::unique_ptr<Collective> gloo, std::unique_ptr<NcclGroup> group, double timeout_s,
                 std::vector<int> parents)
      : gloo_(std::move(gloo)),
        group_(std::move(group)),
        timeout_s_(timeout_s),
        parents_(std::move(parents)) {}

  int rank() const override { return gloo_->rank(); }
  int world_size() const override { return gloo_->world_size(); }

  bool takes(const torch::Device& device) const override {
    return device.is_cpu() || (device.is_cuda() && device.index() == gpu_of(rank()));
  }

  void all_reduce(torch::Tensor tensor, Reduction reduction) override {
    const std::string call = describe_all_reduce(tensor, reduction);
    check_layout(call, tensor);
    reduce_function(tensor.scalar_type(), reduction);  // throws for types that no backend reduces
    refuse_scaled_sum(call, reduction);
    if (tensor.numel() == 0 || world_size() == 1) return;
    attempt(call, [&] {
      if (reduction == Reduction::sum && !parents_.empty()) return sum_along_tree(tensor);
      std::byte* const data = bring(tensor, group_->reserve(staged_bytes(tensor)));
      group_->all_reduce(data, tensor.numel(), tensor.scalar_type(), reduction);
      take_back(data, tensor);
    });
  }

  torch::Tensor all_gather_v(const torch::Tensor& input, std::span<const std::int64_t> counts) override {
    const std::string call = describe_all_gather_v(input, counts);
    check_layout(call, input);
    check_counts(call, input, counts, rank(), world_size());
    if (world_size() == 1) return input.clone();
    torch::Tensor gathered = torch::empty(count_in(counts), input.options());
    if (gathered.numel() == 0) return gathered;
    gathered.narrow(0, count_in(counts.first(static_cast<std::size_t>(rank()))), input.numel()).copy_(input);
    attempt(call, [&] {
      std::byte* const data = bring(gathered, group_->reserve(staged_bytes(gathered)));
      group_->broadcast(blocks_in(data, counts, input.element_size()));
      take_back(data, gathered);
    });
    return gathered;
  }

  torch::Tensor all_to_all_v(const torch::Tensor& input, std::span<const std::int64_t> send_counts,
                             std::span<const std::int64_t> receive_counts) override {
    const std::string call = describe_all_to_all_v(input);
    check_layout(call, input);
    check_all_to_all(call, input, send_counts, receive_counts, rank(), world_size());
    if (world_size() == 1) return input.clone();
    torch::Tensor received = torch::empty(count_in(receive_counts), input.options());
    attempt(call, [&] {
      std::byte* const staged = group_->reserve(staged_bytes(input) + staged_bytes(received));
      std::byte* const sent_data = bring(input, staged);
      std::byte* const received_data = place_of(received, staged + staged_bytes(input));
      group_->exchange(blocks_in(sent_data, send_counts, input.element_size()),
                       blocks_in(received_data, receive_counts, input.element_size()));
      take_back(received_data, received);
    });
    return received;
  }

  void broadcast(torch::Tensor tensor, int root) override {
    const std::string call = describe_broadcast(tensor, root);
    check_layout(call, tensor);
    check_root(call, root, world_size());
    if (tensor.numel() == 0 || world_size() == 1) return;
    attempt(call, [&] {
      std::byte* const data = bring(tensor, group_->reserve(staged_bytes(tensor)));
      const NcclGroup::Block whole{.data = data, .bytes = tensor.nbytes(), .rank = root};
      group_->broadcast({&whole, 1});
      take_back(data, tensor);
    });
  }

  std::unique_ptr<PointToPoint> open_point_to_point(std::int64_t message_bytes) override {
    return gloo_->open_point_to_point(message_bytes);
  }

  void barrier() override { gloo_->barrier(); }

 private:
  // Runs `operation` and waits for the operations it queued. Turns errors into a CollectiveError that names
  // `call`, and then ends the group, so that workers waiting for this one fail too.
  void attempt(const std::string& call, const std::function<void()>& operation) {
    const auto fail = [&](const std::string& reason) {
      throw CollectiveError(fmt::format("{} on rank {} of {}: {}", call, rank(), world_size(), reason));
    };
    if (!failure_.empty()) fail("an earlier call failed: " + failure_);
    try {
      group_->follow_caller();
      operation();
      group_->finish(timeout_s_);
    } catch (const std::exception& error) {
      failure_ = message_of(error);
    }
    if (failure_.empty()) return;
    group_->abort();
    fail(failure_);
  }

  // Each step's messages are one exchange. Received parts are added before the next step.
  void sum_along_tree(const torch::Tensor& tensor) {
    const auto element_bytes = static_cast<std::size_t>(tensor.element_size());
    const std::size_t chunk_bytes =
        std::max<std::size_t>(1, chunk_of(tensor.nbytes()) / element_bytes) * element_bytes;
    const TreePlan plan(parents_, rank(), (tensor.nbytes() + chunk_bytes - 1) / chunk_bytes);
    std::byte* const staged = group_->reserve(staged_bytes(tensor) + plan.children().size() * chunk_bytes);
    std::byte* const incoming = staged + staged_bytes(tensor);
    std::byte* const data = bring(tensor, staged);
    const auto block = [&](std::size_t chunk, std::byte* at, int with) {
      return NcclGroup::Block{
          .data = at, .bytes = std::min(chunk_bytes, tensor.nbytes() - chunk * chunk_bytes), .rank = with};
    };
    for (std::size_t s = 0; s < plan.steps(); ++s) {
      const TreePlan::Step step = plan.step(s);
      std::vector<NcclGroup::Block> sent;
      std::vector<NcclGroup::Block> received;
      const auto own = [&](std::size_t chunk, int with) {
        return block(chunk, data + chunk * chunk_bytes, with);
      };
      if (step.up) sent.push_back(own(*step.up, plan.parent()));
      if (step.from_parent) received.push_back(own(*step.from_parent, plan.parent()));
      std::vector<const std::byte*> parts;
      for (std::size_t child = 0; child < plan.children().size(); ++child) {
        if (step.down) sent.push_back(own(*step.down, plan.children()[child]));
        if (!step.from_children) continue;
        std::byte* const part = incoming + child * chunk_bytes;
        received.push_back(block(*step.from_children, part, plan.children()[child]));
        parts.push_back(part);
      }
      group_->exchange(sent, received);
      if (!step.from_children) continue;
      const NcclGroup::Block sum = own(*step.from_children, rank());
      group_->add(sum.data, parts, static_cast<std::int64_t>(sum.bytes / element_bytes),
                  tensor.scalar_type());
    }
    take_back(data, tensor);
  }

  // Returns the bytes of GPU memory for a tensor that is elsewhere.
  static std::size_t staged_bytes(const torch::Tensor& tensor) {
    return tensor.is_cuda() ? 0 : tensor.nbytes();
  }

  static std::byte* place_of(const torch::Tensor& tensor, std::byte* staged) {
    return tensor.is_cuda() ? memory_of(tensor).data() : staged;
  }

  // Returns where the tensor's data are on the GPU.
  std::byte* bring(const torch::Tensor& tensor, std::byte* staged) {
    if (!tensor.is_cuda()) group_->upload(memory_of(tensor), staged);
    return place_of(tensor, staged);
  }

  void take_back(const std::byte* data, const torch::Tensor& tensor) {
    if (!tensor.is_cuda()) group_->download(data, memory_of(tensor));
  }

  std::unique_ptr<Collective> gloo_;
  std::unique_ptr<NcclGroup> group_;
  double timeout_s_;
  std::vector<int> parents_;
  std::string failure_;  // of an earlier call
};

THINPIPE_REGISTER(Collective){
    "nccl", "NCCL over TCP between the workers' addresses; needs a GPU and a build with NCCL",
    describe_options<NcclOptions>(), [](JsonObject& options, const GroupOptions& group_options) {
      return make_nccl(read_options<NcclOptions>(options), group_options);
    }};

}  // namespace

std::unique_ptr<Collective> make_nccl(std::unique_ptr<Collective> gloo, std::unique_ptr<NcclGroup> group,
                                      double timeout_s, std::vector<int> parents) {
  return std::make_unique<NcclCollective>(std::move(gloo), std::move(group), timeout_s, std::move(parents));
}

std::unique_ptr<Collective> make_nccl(const NcclOptions& options, const GroupOptions& group_options) {
  auto gloo = make_gloo({.timeout_s = options.timeout_s}, group_options);
  if (group_options.world_size == 1) return make_nccl(std::move(gloo), nullptr, options.timeout_s);
  if (const auto obstacle = obstacle_to_nccl()) throw Error("the collective " + *obstacle);
  auto group = open_nccl_group(group_options, *gloo, options.timeout_s);
  return make_nccl(
      std::move(gloo), std::move(group), options.timeout_s,
      options.all_reduce == "tree" ? group_options.reduction_tree_or_binary() : std::vector<int>());
}

std::optional<std::string> obstacle_to_nccl() {
  constexpr std::string_view remedy = "; use \"auto\", which carries gradients through main memory";
  if (!nccl_version()) return fmt::format("is nccl, but this program was built without NCCL{}", remedy);
  if (torch::cuda::is_available()) return std::nullopt;
  return fmt::format("is nccl, but LibTorch finds no GPU here{}", remedy);
}

}  // namespace thinpipe::trainer
