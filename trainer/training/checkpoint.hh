// SPDX-License-Identifier: Apache-2.0
// Checkpoints: the complete state, so that training resumes as if it had not stopped. There is one file per
// worker and iteration, because residuals differ among workers. The two newest are kept, so that a set that
// is complete on all workers always exists.
#pragma once

#include "trainer/base/modules.hh"
#include "trainer/base/tensor_map.hh"
#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer {

class CheckpointFolder {
 public:
  CheckpointFolder(std::string folder, int rank) : folder_(std::move(folder)), rank_(rank) {}

  // Writes this worker's file for an iteration and removes all but the two newest of its own.
  void save(std::int64_t iteration, const TensorMap& state) const;

  // Returns this worker's state at that iteration. Throws if its file is missing or damaged.
  TensorMap load(std::int64_t iteration) const;

  // Returns the state of the newest iteration that every worker has; nullopt if there is none. Collective.
  struct Found {
    std::int64_t iteration;
    TensorMap state;
  };
  std::optional<Found> load_newest(Collective& collective) const;

 private:
  std::string path(std::int64_t iteration) const;
  std::vector<std::int64_t> iterations() const;  // of this worker's files, ascending

  std::string folder_;
  int rank_;
};

// Convert an optimiser's state to one tensor of bytes, and back.
torch::Tensor optimiser_state(const torch::optim::Optimizer& optimiser);
void restore_optimiser(torch::optim::Optimizer& optimiser, const torch::Tensor& state);

}  // namespace thinpipe::trainer
