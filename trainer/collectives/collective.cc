// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/collective.hh"

#include "trainer/collectives/arguments.hh"
#include "trainer/collectives/ring_formula.hh"

namespace thinpipe::trainer {

void Collective::all_reduce_quantised(torch::Tensor codes, int largest, const CodeChunks& chunks) {
  check_codes(describe_all_reduce(codes, Reduction::sum), codes, largest, world_size());
  const auto all = static_cast<std::size_t>(codes.numel());
  if (chunks.produce && all > 0) chunks.produce(0, all);
  all_reduce(std::move(codes), Reduction::sum);
  if (chunks.consume && all > 0) chunks.consume(0, all);
}

double Collective::all_reduce_sent_bytes(std::int64_t bytes) const {
  return ring_all_reduce_sent_bytes(static_cast<double>(bytes), world_size());
}

double Collective::all_reduce_quantised_sent_bytes(std::int64_t codes, int /*largest*/) const {
  return all_reduce_sent_bytes(codes);
}

std::vector<EdgeBytes> Collective::sparse_all_reduce(torch::Tensor tensor,
                                                     std::span<const std::uint32_t> /*places*/) {
  throw CollectiveError(describe_sparse_all_reduce(tensor) + ": this collective has no reduction tree");
}

void Collective::replay_sparse_all_reduce(const SparseAllReduceCall& /*call*/) {
  throw CollectiveError("replay a sparse_all_reduce: this collective has no reduction tree");
}

}  // namespace thinpipe::trainer
