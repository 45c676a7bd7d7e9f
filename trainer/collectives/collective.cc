#include "trainer/collectives/collective.hh"

#include "trainer/collectives/arguments.hh"
#include "trainer/collectives/ring_formula.hh"

namespace thinpipe::trainer {

void Collective::all_reduce_codes(torch::Tensor codes, int largest, const CodePieces& pieces) {
  check_codes(describe_all_reduce(codes, Reduction::sum), codes, largest, world_size());
  const auto all = static_cast<std::size_t>(codes.numel());
  if (pieces.make && all > 0) pieces.make(0, all);
  all_reduce(std::move(codes), Reduction::sum);
  if (pieces.take && all > 0) pieces.take(0, all);
}

double Collective::all_reduce_sent_bytes(std::int64_t bytes) const {
  return ring_all_reduce_sent_bytes(static_cast<double>(bytes), world_size());
}

double Collective::code_sum_sent_bytes(std::int64_t codes, int /*largest*/) const {
  return all_reduce_sent_bytes(codes);
}

std::vector<EdgeBytes> Collective::sum_entries(torch::Tensor tensor,
                                               std::span<const std::uint32_t> /*places*/) {
  throw CollectiveError(describe_sum_entries(tensor) + ": this collective has no reduction tree");
}

void Collective::repeat_entry_sum(const EntrySumCall& /*call*/) {
  throw CollectiveError("repeat a sum of entries: this collective has no reduction tree");
}

}  // namespace thinpipe::trainer
