#include "trainer/synchronisers/sparse/sparsifier.hh"

#include "trainer/synchronisers/messages.hh"
#include "trainer/tensor_span.hh"

namespace thinpipe::trainer {
namespace {

// One number for all: a worker with another method is refused when the layout is agreed on.
constexpr std::uint8_t sparsifier_on_the_wire = 1;

}  // namespace

Promises Sparsifier::promises() const {
  return {.estimate = Estimate::delayed, .traffic_depends_on_data = !has_fixed_size()};
}

void Sparsifier::synchronise(Bucket& bucket, Collective& network) {
  const SparseHeader header{.method = sparsifier_on_the_wire,
                            .bucket = static_cast<std::uint32_t>(bucket.index),
                            .step = static_cast<std::uint32_t>(step_),
                            .n = static_cast<std::uint32_t>(bucket.size)};
  const auto own = static_cast<std::uint32_t>(network.rank());
  const std::span<float> values = floats(bucket.gradient);
  rank_ = network.rank();
  world_size_ = network.world_size();
  accumulate(bucket);
  const std::vector<std::uint32_t> indices = choose(bucket);
  const torch::Tensor message = code_->encode(header, own, indices, values);
  // Less what the others will read, which a lossy code may have changed.
  if (code_->is_lossless()) {
    for (const std::uint32_t index : indices) values[index] = 0;
  } else {
    code_->add(message, header, own, -1, values);
  }
  hold_back(bucket, indices);

  const Messages messages = has_fixed_size() ? gather_equal(message, network) : gather_any(message, network);
  bucket.gradient.zero_();
  for (std::uint32_t sender = 0; sender < messages.size(); ++sender) {
    code_->add(messages[sender], header, sender, 1, values);
  }
  bucket.gradient.div_(network.world_size());
}

ExpectedTraffic Sparsifier::traffic(const Bucket& bucket, int world_size) const {
  return gathered_traffic(code_->message_bytes(bucket.size, count_for(bucket)), world_size);
}

ExpectedTraffic Sparsifier::settled_traffic(const Bucket& bucket, int world_size) const {
  return gathered_traffic(code_->expected_bytes(bucket.size, settled_count_for(bucket)), world_size);
}

ExpectedTraffic Sparsifier::gathered_traffic(std::int64_t message_bytes, int world_size) const {
  const ExpectedTraffic messages = all_gather_traffic(message_bytes, world_size);
  return has_fixed_size() ? messages : gathered_sizes_traffic(world_size) + messages;
}

}  // namespace thinpipe::trainer
