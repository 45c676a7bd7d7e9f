// SPDX-License-Identifier: Apache-2.0
// Argument checks that all backends share, and the names of calls in their errors.
#pragma once

#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer {

// Returns for example "all_reduce sum of 1024 x Float".
std::string describe_all_reduce(const torch::Tensor& tensor, Reduction reduction);
std::string describe_sparse_all_reduce(const torch::Tensor& tensor);
std::string describe_all_gather_v(const torch::Tensor& input, std::span<const std::int64_t> counts);
std::string describe_all_to_all_v(const torch::Tensor& input);
std::string describe_broadcast(const torch::Tensor& tensor, int root);

// Throw CollectiveError naming `call` and the broken rule.
void check_layout(const std::string& call, const torch::Tensor& tensor);
// Checks the layout, and that the tensor is on the CPU.
void check_tensor(const std::string& call, const torch::Tensor& tensor);
// Checks that the tensor has whole elements of the reduction. Returns the bytes of one.
std::size_t check_elements(const std::string& call, const torch::Tensor& tensor, Reduction reduction);
// For backends that leave sums to a library.
void refuse_scaled_sum(const std::string& call, Reduction reduction);
void check_codes(const std::string& call, const torch::Tensor& codes, int largest, int world_size);
void check_indices(const std::string& call, const torch::Tensor& tensor,
                   std::span<const std::uint32_t> indices);
void check_counts(const std::string& call, const torch::Tensor& input, std::span<const std::int64_t> counts,
                  int rank, int world_size);
void check_all_to_all(const std::string& call, const torch::Tensor& input,
                      std::span<const std::int64_t> send_counts, std::span<const std::int64_t> receive_counts,
                      int rank, int world_size);
void check_root(const std::string& call, int root, int world_size);

}  // namespace thinpipe::trainer
