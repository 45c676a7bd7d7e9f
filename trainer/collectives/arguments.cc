// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/arguments.hh"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trainer/collectives/scaled_block.hh"

namespace thinpipe::trainer {

namespace {

std::string describe(const torch::Tensor& tensor) {
  return fmt::format("{} x {}", tensor.numel(), c10::toString(tensor.scalar_type()));
}

}  // namespace

std::string describe_all_reduce(const torch::Tensor& tensor, Reduction reduction) {
  return fmt::format("all_reduce {} of {}", name_of(reduction), describe(tensor));
}

std::string describe_sparse_all_reduce(const torch::Tensor& tensor) {
  return fmt::format("sparse_all_reduce of {}", describe(tensor));
}

std::string describe_all_gather_v(const torch::Tensor& input, std::span<const std::int64_t> counts) {
  return fmt::format("all_gather_v of [{}] x {}", fmt::join(counts, ", "),
                     c10::toString(input.scalar_type()));
}

std::string describe_all_to_all_v(const torch::Tensor& input) {
  return fmt::format("all_to_all_v of {}", c10::toString(input.scalar_type()));
}

std::string describe_broadcast(const torch::Tensor& tensor, int root) {
  return fmt::format("broadcast of {} from rank {}", describe(tensor), root);
}

void check_layout(const std::string& call, const torch::Tensor& tensor) {
  if (tensor.dim() != 1 || !tensor.is_contiguous()) {
    throw CollectiveError(call + ": the tensor must have one dimension and be contiguous");
  }
}

void check_tensor(const std::string& call, const torch::Tensor& tensor) {
  check_layout(call, tensor);
  if (!tensor.device().is_cpu()) throw CollectiveError(call + ": the tensor must be on the CPU");
}

std::size_t check_elements(const std::string& call, const torch::Tensor& tensor, Reduction reduction) {
  if (reduction != Reduction::scaled_sum) return tensor.element_size();
  if (tensor.nbytes() % sizeof(ScaledBlock) != 0)
    throw CollectiveError(fmt::format("{}: blocks have {} bytes", call, sizeof(ScaledBlock)));
  return sizeof(ScaledBlock);
}

void refuse_scaled_sum(const std::string& call, Reduction reduction) {
  if (reduction == Reduction::scaled_sum)
    throw CollectiveError(call + ": only island, ring and gloo compute such sums");
}

void check_codes(const std::string& call, const torch::Tensor& codes, int largest, int world_size) {
  check_tensor(call, codes);
  if (codes.scalar_type() != torch::kInt8) throw CollectiveError(call + ": codes must be int8");
  constexpr int most = std::numeric_limits<std::int8_t>::max();
  if (largest < 1 || largest > most / world_size) {
    throw CollectiveError(
        fmt::format("{}: for {} workers, codes of up to {} are out of range: sums must not exceed {}", call,
                    world_size, largest, most));
  }
}

void check_indices(const std::string& call, const torch::Tensor& tensor,
                   std::span<const std::uint32_t> indices) {
  check_tensor(call, tensor);
  if (tensor.scalar_type() != torch::kFloat) throw CollectiveError(call + ": entries must be float32");
  if (std::ranges::adjacent_find(indices, std::greater_equal()) != indices.end() ||
      (!indices.empty() && std::cmp_greater_equal(indices.back(), tensor.numel()))) {
    throw CollectiveError(call + ": indices must ascend within the tensor");
  }
}

void check_counts(const std::string& call, const torch::Tensor& input, std::span<const std::int64_t> counts,
                  int rank, int world_size) {
  if (counts.size() != static_cast<std::size_t>(world_size)) {
    throw CollectiveError(fmt::format("{}: {} counts for {} workers", call, counts.size(), world_size));
  }
  if (input.numel() != counts[rank]) {
    throw CollectiveError(fmt::format("{}: rank {} passes {} elements", call, rank, input.numel()));
  }
}

void check_all_to_all(const std::string& call, const torch::Tensor& input,
                      std::span<const std::int64_t> send_counts, std::span<const std::int64_t> receive_counts,
                      int rank, int world_size) {
  const auto workers = static_cast<std::size_t>(world_size);
  if (send_counts.size() != workers || receive_counts.size() != workers) {
    throw CollectiveError(fmt::format("{}: {} send counts and {} receive counts for {} workers", call,
                                      send_counts.size(), receive_counts.size(), world_size));
  }
  if (std::accumulate(send_counts.begin(), send_counts.end(), std::int64_t{0}) != input.numel()) {
    throw CollectiveError(fmt::format("{}: rank {} passes {} elements for send counts of [{}]", call, rank,
                                      input.numel(), fmt::join(send_counts, ", ")));
  }
  if (send_counts[rank] != receive_counts[rank]) {
    throw CollectiveError(fmt::format("{}: rank {} sends itself {} elements and expects {}", call, rank,
                                      send_counts[rank], receive_counts[rank]));
  }
}

void check_root(const std::string& call, int root, int world_size) {
  if (root < 0 || root >= world_size) {
    throw CollectiveError(fmt::format("{}: there are {} workers", call, world_size));
  }
}

}  // namespace thinpipe::trainer
