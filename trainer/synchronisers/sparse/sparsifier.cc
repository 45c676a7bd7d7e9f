// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/sparse/sparsifier.hh"

#include <algorithm>
#include <utility>

#include "trainer/base/tensor_span.hh"
#include "trainer/collectives/sparse_block.hh"
#include "trainer/synchronisers/messages.hh"

namespace thinpipe::trainer {
namespace {

// All sparsifiers share one number: workers take their method from one configuration, and no message
// distinguishes two sparsifiers.
constexpr std::uint8_t sparsifier_on_the_wire = 1;

constexpr const char* merged = "sparse_all_reduce";

}  // namespace

MethodProperties Sparsifier::properties() const {
  return {.estimate = Estimate::error_feedback,
          .traffic_depends_on_data = uses_sparse_all_reduce_ || !has_fixed_size()};
}

Sparsifier::Sparsifier(const std::string& indices)
    : code_(make_plain_sparse_code(indices == merged ? "u16" : indices)),
      uses_sparse_all_reduce_(indices == merged) {}

std::vector<std::string> Sparsifier::index_options() {
  std::vector<std::string> names = index_code_names();
  names.emplace_back(merged);
  return names;
}

void Sparsifier::use_code(std::unique_ptr<SparseCode> code) {
  code_ = std::move(code);
  uses_sparse_all_reduce_ = false;
}

void Sparsifier::synchronise(Bucket& bucket, Collective& network) {
  rank_ = network.rank();
  world_size_ = network.world_size();
  accumulate(bucket);
  const std::vector<std::uint32_t> indices = choose(bucket);
  if (uses_sparse_all_reduce_ && network.has_sparse_all_reduce()) {
    sparse_all_reduce(bucket, indices, network);
  } else {
    gather(bucket, indices, network);
  }
  bucket.gradient.div_(network.world_size());
  finish(bucket);
}

void Sparsifier::sparse_all_reduce(Bucket& bucket, std::span<const std::uint32_t> indices,
                                   Collective& network) {
  const std::span<float> values = floats(bucket.gradient);
  std::vector<float> chosen;
  chosen.reserve(indices.size());
  for (const std::uint32_t index : indices) chosen.push_back(std::exchange(values[index], 0.0F));
  store_residual(bucket, indices);

  bucket.gradient.zero_();
  for (std::size_t i = 0; i < indices.size(); ++i) values[indices[i]] = chosen[i];
  network.sparse_all_reduce(bucket.gradient, indices);
}

void Sparsifier::gather(Bucket& bucket, std::span<const std::uint32_t> indices, Collective& network) {
  const SparseHeader header{.method = sparsifier_on_the_wire,
                            .bucket = static_cast<std::uint32_t>(bucket.index),
                            .step = static_cast<std::uint32_t>(step_),
                            .n = static_cast<std::uint32_t>(bucket.size)};
  const auto own = static_cast<std::uint32_t>(network.rank());
  const std::span<float> values = floats(bucket.gradient);
  const torch::Tensor message = message_of(code_->encode(header, own, indices, values));
  if (code_->is_lossless()) {
    for (const std::uint32_t index : indices) values[index] = 0;
    store_residual(bucket, indices);
  } else {
    store_residual(bucket, subtract_decoded(message, header, own, values));
  }

  const Messages messages = has_fixed_size() ? gather_equal(message, network) : gather_any(message, network);
  bucket.gradient.zero_();
  for (std::uint32_t sender = 0; sender < messages.size(); ++sender) {
    code_->add(elements<std::uint8_t>(messages[sender]), header, sender, 1, values);
  }
}

// A lossy code may change values and choose other entries, so this returns the indices that `message` has.
std::vector<std::uint32_t> Sparsifier::subtract_decoded(const torch::Tensor& message,
                                                        const SparseHeader& header, std::uint32_t own,
                                                        std::span<float> values) const {
  std::vector<float> decoded(values.size());
  code_->add(elements<std::uint8_t>(message), header, own, 1, decoded);
  std::vector<std::uint32_t> sent;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (decoded[i] == 0) continue;
    values[i] -= decoded[i];
    sent.push_back(static_cast<std::uint32_t>(i));
  }
  return sent;
}

ExpectedTraffic Sparsifier::traffic(const Bucket& bucket, int world_size) const {
  const std::int64_t gathered = code_->message_bytes(bucket.size, count_for(bucket));
  return gathered_traffic(
      uses_sparse_all_reduce_ ? std::max(gathered, sparse_all_reduce_bytes(bucket)) : gathered, world_size);
}

// Counts entries that are merged along a tree as if they were gathered. If each worker keeps a share p, the
// union over j workers has only 1 - (1 - p)^j of all entries.
ExpectedTraffic Sparsifier::steady_state_traffic(const Bucket& bucket, int world_size) const {
  return gathered_traffic(code_->expected_bytes(bucket.size, steady_state_count_for(bucket)), world_size);
}

// Upper bound: no two workers have an entry with the same index.
std::int64_t Sparsifier::sparse_all_reduce_bytes(const Bucket& bucket) const {
  const auto heads = static_cast<std::int64_t>(Blocks{static_cast<std::size_t>(bucket.size)}.count() *
                                               sparse_block_head_bytes);
  return heads + count_for(bucket) * static_cast<std::int64_t>(sizeof(std::uint16_t) + sizeof(float));
}

ExpectedTraffic Sparsifier::gathered_traffic(std::int64_t message_bytes, int world_size) const {
  const ExpectedTraffic messages = all_gather_traffic(message_bytes, world_size);
  return has_fixed_size() ? messages : gathered_sizes_traffic(world_size) + messages;
}

}  // namespace thinpipe::trainer
