// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/backends/streamed.hh"

#include <numeric>

#include <fmt/format.h>

#include "trainer/base/library_error.hh"
#include "trainer/collectives/arguments.hh"
#include "trainer/collectives/reduce_function.hh"
#include "trainer/collectives/transport/peer_connections.hh"

namespace thinpipe::trainer {

StreamedCollective::StreamedCollective(const GlooOptions& options, const GroupOptions& group_options,
                                       const std::vector<int>& peers)
    : gloo_(make_gloo(options, group_options)), timeout_s_(options.timeout_s) {
  if (group_options.world_size == 1) return;
  attempt(fmt::format("connect at {} with neighbours", group_options.address),
          [&] { peers_ = connect_peers(*gloo_, group_options.address, peers, timeout_s_); });
}

void StreamedCollective::attempt(const std::string& call, const std::function<void()>& operation) {
  const auto fail = [&](const std::string& reason) {
    throw CollectiveError(fmt::format("{} on rank {} of {}: {}", call, rank(), world_size(), reason));
  };
  if (!failure_.empty()) fail("an earlier call failed: " + failure_);
  try {
    operation();
  } catch (const std::exception& error) {
    failure_ = message_of(error);
  }
  if (failure_.empty()) return;
  peers_.clear();
  fail(failure_);
}

void StreamedCollective::all_reduce(torch::Tensor tensor, Reduction reduction) {
  const std::string call = describe_all_reduce(tensor, reduction);
  check_tensor(call, tensor);
  const Reduce reduce = reduce_function(tensor.scalar_type(), reduction);
  const std::size_t element_bytes = check_elements(call, tensor, reduction);
  if (tensor.numel() == 0 || world_size() == 1) return;
  attempt(call, [&] {
    stream_all_reduce({.bytes = bytes_of(tensor), .element_bytes = element_bytes, .reduce = reduce});
  });
}

torch::Tensor StreamedCollective::all_gather_v(const torch::Tensor& input,
                                               std::span<const std::int64_t> counts) {
  const std::string call = describe_all_gather_v(input, counts);
  check_tensor(call, input);
  check_counts(call, input, counts, rank(), world_size());
  if (world_size() == 1) return input.clone();
  const std::int64_t all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  torch::Tensor gathered = torch::empty(all, input.options());
  const std::int64_t before = std::accumulate(counts.begin(), counts.begin() + rank(), std::int64_t{0});
  gathered.narrow(0, before, input.numel()).copy_(input);
  std::vector<std::size_t> block_bytes;
  for (const std::int64_t count : counts) block_bytes.push_back(count * input.element_size());
  attempt(call, [&] { stream_all_gather(bytes_of(gathered), block_bytes); });
  return gathered;
}

torch::Tensor StreamedCollective::all_to_all_v(const torch::Tensor& input,
                                               std::span<const std::int64_t> send_counts,
                                               std::span<const std::int64_t> receive_counts) {
  return gloo_->all_to_all_v(input, send_counts, receive_counts);
}

void StreamedCollective::broadcast(torch::Tensor tensor, int root) {
  gloo_->broadcast(tensor, root);
}

std::unique_ptr<PointToPoint> StreamedCollective::open_point_to_point(std::int64_t message_bytes) {
  return gloo_->open_point_to_point(message_bytes);
}

void StreamedCollective::barrier() {
  gloo_->barrier();
}

}  // namespace thinpipe::trainer
