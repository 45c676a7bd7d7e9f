// Checkpoints: all that is needed to go on as if nothing had happened. One file per worker and iteration,
// because residuals differ among workers; the two newest are kept, so that a set that is complete on all
// workers always exists.
#pragma once

#include "trainer/collectives/collective.hh"
#include "trainer/modules.hh"
#include "trainer/tensor_map.hh"

namespace thinpipe::trainer {

class CheckpointFolder {
 public:
  CheckpointFolder(std::string folder, int rank) : folder_(std::move(folder)), rank_(rank) {}

  // Writes this worker's file for an iteration and removes all but the two newest of its own.
  void save(std::int64_t iteration, const TensorMap& state) const;

  // Collective. The state of the newest iteration that every worker has, or nothing when there is none.
  struct Found {
    std::int64_t iteration;
    TensorMap state;
  };
  std::optional<Found> load_newest(Collective& collective) const;

 private:
  std::string path(std::int64_t iteration) const;
  std::vector<std::int64_t> iterations() const;  // ascending, of this worker's files

  std::string folder_;
  int rank_;
};

// An optimiser's state as one tensor of bytes, and back.
torch::Tensor optimiser_state(const torch::optim::Optimizer& optimiser);
void restore_optimiser(torch::optim::Optimizer& optimiser, const torch::Tensor& state);

}  // namespace thinpipe::trainer
