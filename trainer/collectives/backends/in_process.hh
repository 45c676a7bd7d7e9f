// SPDX-License-Identifier: Apache-2.0
// Collectives among threads of one process: the tests' reference, and the network of convergence runs.
//
//   InProcessGroup group(4);
//   // in thread r:
//   std::unique_ptr<Collective> net = group.join(r);
//
// all_reduce combines workers in ascending order of rank, whatever the element's position, so that results
// depend neither on timing nor on packing. float16 sums are ((h0 + h1) + h2) + ..., with each addition
// rounded to half, as a network would. With a reduction tree, sums have exactly the bits of "island" over a
// network: each worker's sum is that of its own tensor and its children's sums, rounded once. Only such a
// group supports sparse_all_reduce(). If arguments differ between workers, every worker gets an error.
//
// No worker waits for one that will not come. A worker's error, the destruction of its Collective, and
// abort() end every pending and later call of the others with a CollectiveError that states the reason.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer {

class InProcessGroup {
 public:
  // parents: the reduction tree, as in GroupOptions; if empty, sums are in rank order.
  explicit InProcessGroup(int world_size, const std::vector<int>& parents = {});

  // Returns the Collective of worker `rank`; call once per rank. It keeps the group's state alive.
  std::unique_ptr<Collective> join(int rank);

  // Ends every pending and later call of all workers. The first reason is kept.
  void abort(const std::string& reason);

  // Returns the rank whose error or departure ended the group first; -1 if none did.
  int first_failed_rank() const;

 private:
  class State;
  class Member;

  std::shared_ptr<State> state_;
};

// Runs `worker` on one thread per rank of such a group and waits for all threads. If some fail, throws the
// exception of the one that ended the group.
void run_in_process(int world_size, const std::vector<int>& parents,
                    const std::function<void(std::unique_ptr<Collective>)>& worker);
void run_in_process(int world_size, const std::function<void(std::unique_ptr<Collective>)>& worker);
void run_in_process(int world_size, const std::function<void(Collective&)>& worker);

}  // namespace thinpipe::trainer
