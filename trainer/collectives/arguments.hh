// What every backend asks of its arguments, and how its errors name a call.
#pragma once

#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer {

// "all_reduce sum of 1024 x Float" and the like.
std::string describe_all_reduce(const torch::Tensor& tensor, Reduction reduction);
std::string describe_sum_entries(const torch::Tensor& tensor);
std::string describe_all_gather_v(const torch::Tensor& input, std::span<const std::int64_t> counts);
std::string describe_all_to_all_v(const torch::Tensor& input);
std::string describe_broadcast(const torch::Tensor& tensor, int root);

// Throw CollectiveError naming `call` and the rule.
void check_layout(const std::string& call, const torch::Tensor& tensor);
void check_tensor(const std::string& call, const torch::Tensor& tensor);  // and that it is on the CPU
void check_codes(const std::string& call, const torch::Tensor& codes, int largest, int world_size);
void check_places(const std::string& call, const torch::Tensor& tensor,
                  std::span<const std::uint32_t> places);
void check_counts(const std::string& call, const torch::Tensor& input, std::span<const std::int64_t> counts,
                  int rank, int world_size);
void check_all_to_all(const std::string& call, const torch::Tensor& input,
                      std::span<const std::int64_t> send_counts, std::span<const std::int64_t> receive_counts,
                      int rank, int world_size);
void check_root(const std::string& call, int root, int world_size);

}  // namespace thinpipe::trainer
