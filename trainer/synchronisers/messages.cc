// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/messages.hh"

#include <algorithm>

#include <fmt/format.h>

#include "trainer/base/tensor_span.hh"

namespace thinpipe::trainer {
namespace {

using Sizes = std::vector<std::int64_t>;

Sizes ones(const Collective& network) {
  return Sizes(static_cast<std::size_t>(network.world_size()), 1);
}

torch::Tensor on_the_wire(const Sizes& sizes) {
  const torch::Tensor wide = torch::tensor(sizes, torch::kLong);
  const torch::Tensor wire = wide.to(torch::kInt);
  if (!wire.to(torch::kLong).equal(wide)) throw Error("send messages: a message is larger than 2 GiB");
  return wire;
}

Sizes from_the_wire(const torch::Tensor& wire) {
  const torch::Tensor wide = wire.to(torch::kLong);
  const auto* begin = wide.data_ptr<std::int64_t>();
  Sizes sizes(begin, begin + wide.numel());
  // A collective would use a negative size to compute where to write.
  const auto negative = std::ranges::find_if(sizes, [](std::int64_t size) { return size < 0; });
  if (negative != sizes.end()) {
    throw CollectiveError(
        fmt::format("rank {} announces a message of {} bytes", negative - sizes.begin(), *negative));
  }
  return sizes;
}

Messages split(const torch::Tensor& all, const Sizes& sizes) {
  Messages messages;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    messages.push_back(all.narrow(0, begin, size));
    begin += size;
  }
  return messages;
}

}  // namespace

torch::Tensor message_of(std::vector<std::uint8_t> bytes) {
  const auto owned = std::make_shared<std::vector<std::uint8_t>>(std::move(bytes));
  return torch::from_blob(
      owned->data(), {std::ssize(*owned)}, [owned](void* /*data*/) {}, torch::kByte);
}

Messages gather_equal(const torch::Tensor& message, Collective& network) {
  const Sizes sizes(static_cast<std::size_t>(network.world_size()), message.numel());
  return split(network.all_gather_v(message, sizes), sizes);
}

Messages gather_any(const torch::Tensor& message, Collective& network) {
  const Sizes sizes = from_the_wire(network.all_gather_v(on_the_wire({message.numel()}), ones(network)));
  return split(network.all_gather_v(message, sizes), sizes);
}

Messages exchange_equal(const Messages& outgoing, Collective& network) {
  const Sizes sizes(outgoing.size(), outgoing.front().numel());
  return split(network.all_to_all_v(torch::cat(outgoing), sizes, sizes), sizes);
}

Messages exchange_any(const Messages& outgoing, Collective& network) {
  Sizes sent;
  for (const torch::Tensor& message : outgoing) sent.push_back(message.numel());
  const Sizes received = from_the_wire(network.all_to_all_v(on_the_wire(sent), ones(network), ones(network)));
  return split(network.all_to_all_v(torch::cat(outgoing), sent, received), received);
}

void gather_mean(const torch::Tensor& message,
                 const std::function<void(const torch::Tensor& message, std::span<float> values)>& add,
                 Bucket& bucket, Collective& network, torch::Tensor* own) {
  if (own != nullptr) {
    *own = torch::zeros({bucket.size});
    add(message, floats(*own));
  }
  bucket.gradient.zero_();
  for (const torch::Tensor& other : gather_equal(message, network)) add(other, floats(bucket.gradient));
  bucket.gradient.div_(network.world_size());
}

}  // namespace thinpipe::trainer
