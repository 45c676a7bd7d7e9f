// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/quantised/sign_compressor.hh"

#include <algorithm>
#include <cstring>

#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/messages.hh"

namespace thinpipe::trainer {

void SignCompressor::exchange(Bucket& bucket, Collective& network, torch::Tensor* own) {
  const std::vector<std::int64_t> sizes = group_sizes(bucket);
  const torch::Tensor values = kept_.pack(bucket);
  const torch::Tensor message = encode(floats(values), sizes);
  if (own != nullptr) {
    values.zero_();
    add(message, sizes, floats(values));
    *own = torch::empty({bucket.size});
    kept_.unpack(values, bucket, *own);
  }
  values.zero_();
  for (const torch::Tensor& other : gather_equal(message, network)) add(other, sizes, floats(values));
  values.div_(network.world_size());
  kept_.unpack(values, bucket, bucket.gradient);
}

ExpectedTraffic SignCompressor::traffic(const Bucket& bucket, int world_size) const {
  std::int64_t groups = 0;
  for (const Slice& slice : bucket.slices) groups += groups_of(slice);
  const std::int64_t numbers = static_cast<std::int64_t>(per_group_) * groups;
  return all_gather_traffic(4 * numbers + sign_bytes(kept_.count(bucket)), world_size);
}

std::int64_t SignCompressor::groups_of(const Slice& slice) const {
  if (group_ == SignGroup::tensor) return 1;
  return std::max<std::int64_t>(1, parameters_[slice.parameter].rows);
}

std::vector<std::int64_t> SignCompressor::group_sizes(const Bucket& bucket) const {
  std::vector<std::int64_t> sizes;
  for (const Slice& slice : bucket.slices) {
    const std::vector<std::int64_t> of_slice = kept_.counts(slice, groups_of(slice));
    sizes.insert(sizes.end(), of_slice.begin(), of_slice.end());
  }
  return sizes;
}

torch::Tensor SignCompressor::encode(std::span<const float> values,
                                     std::span<const std::int64_t> sizes) const {
  std::vector<float> numbers;
  std::size_t begin = 0;
  for (const std::int64_t size : sizes) {
    const SignLevels levels = levels_of(values.subspan(begin, static_cast<std::size_t>(size)));
    numbers.push_back(levels.positive);
    if (per_group_ == 2) numbers.push_back(levels.negative);
    begin += static_cast<std::size_t>(size);
  }
  const std::span<const std::byte> head = std::as_bytes(std::span(numbers));
  torch::Tensor message = torch::empty({std::ssize(head) + sign_bytes(std::ssize(values))}, torch::kByte);
  const std::span<std::uint8_t> bytes = elements<std::uint8_t>(message);
  std::memcpy(bytes.data(), head.data(), head.size());
  pack_signs(values, bytes.subspan(head.size()));
  return message;
}

void SignCompressor::add(const torch::Tensor& message, std::span<const std::int64_t> sizes,
                         std::span<float> values) const {
  const std::span<const std::uint8_t> bytes = elements<std::uint8_t>(message);
  std::vector<float> numbers(per_group_ * sizes.size());
  const std::size_t head = numbers.size() * sizeof(float);
  std::memcpy(numbers.data(), bytes.data(), head);
  std::vector<SignLevels> levels;
  for (std::size_t i = 0; i < numbers.size(); i += per_group_) {
    levels.push_back({.negative = per_group_ == 2 ? numbers[i + 1] : -numbers[i], .positive = numbers[i]});
  }
  add_signs(bytes.subspan(head), sizes, levels, values);
}

}  // namespace thinpipe::trainer
