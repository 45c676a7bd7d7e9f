#include "trainer/collectives/collective.hh"

#include "trainer/collectives/arguments.hh"

namespace thinpipe::trainer {

void Collective::all_reduce_codes(torch::Tensor codes, int largest) {
  check_codes(describe_all_reduce(codes, Reduction::sum), codes, largest, world_size());
  all_reduce(std::move(codes), Reduction::sum);
}

}  // namespace thinpipe::trainer
