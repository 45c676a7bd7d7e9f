// Collectives among threads of one process: the tests' reference, and what runs convergence without a
// network.
//
//   InProcessGroup group(4);
//   // in thread r:
//   std::unique_ptr<Collective> net = group.join(r);
//
// all_reduce combines workers in ascending rank order, whatever the element's position, so that results
// depend neither on timing nor on packing: float16 sums are ((h0 + h1) + h2) + ..., each addition rounded to
// half as a network's would be. Or along a tree, and then with the very bits that "island" has over a
// network: each worker's sum is its own tensor's and its children's, rounded once; only then it sums entries.
// Arguments that differ among the workers are errors on every worker.
//
// No worker waits for one that will not come: an error in one worker's collective, a worker that destroys its
// Collective, and abort() end every pending and later call of the others with a CollectiveError that says
// why.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/collectives/collective.hh"

namespace thinpipe::trainer {

class InProcessGroup {
 public:
  // parents: as in Membership; empty: in rank order.
  explicit InProcessGroup(int world_size, const std::vector<int>& parents = {});

  // The Collective of worker `rank`; once per rank. It keeps the group's state alive.
  std::unique_ptr<Collective> join(int rank);

  // Ends every pending and later call of all workers. The first reason given stands.
  void abort(const std::string& reason);

  // The rank whose error or departure ended the group first; -1 if none did.
  int culprit() const;

 private:
  class State;
  class Member;

  std::shared_ptr<State> state_;
};

// Runs `worker` on one thread per rank of such a group and waits for all. Where some fail, throws what the
// one that brought the group down threw.
void run_in_process(int world_size, const std::vector<int>& parents,
                    const std::function<void(std::unique_ptr<Collective>)>& worker);
void run_in_process(int world_size, const std::function<void(std::unique_ptr<Collective>)>& worker);
void run_in_process(int world_size, const std::function<void(Collective&)>& worker);

}  // namespace thinpipe::trainer
