// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/collective_choices.hh"

#include "harness/plan/exchange.hh"
#include "netem/topology/reduction_tree.hh"

namespace thinpipe {
namespace {

// Returns whether an all-reduce occupies the slowest link for less time along the tree than around the ring.
// True if the tree crosses no cap, or the ring neither: a tree has fewer hops.
bool tree_takes_less_time(const netem::Topology& topology, std::int64_t workers,
                          const std::vector<int>& tree) {
  const SentBytes sent{.around_ring = 1};
  const auto around_ring = predict_exchange(topology, workers, sent);
  const auto along_tree = predict_exchange(topology, workers, sent, tree);
  return !around_ring || !along_tree || along_tree->time_s < around_ring->time_s;
}

}  // namespace

void CollectiveChoices::resolve(Run& run) {
  const Json options = run.training->config.value("collective", Json::object());
  const auto [choice, is_new] = known_.try_emplace({run.setting, options.dump()});
  if (is_new) choice->second = choose(run, options);
  run.collective = choice->second.collective;
  run.reduction_tree = choice->second.reduction_tree;
}

CollectiveChoices::Choice CollectiveChoices::choose(const Run& run, const Json& options) {
  const std::string name =
      run.trainer ? collective_without_network : options.value("name", collective_without_network);
  const bool is_open = name == "auto";
  const bool along_tree = name == "island" || options.value("all_reduce", "") == "tree";
  if (run.mode == Mode::converge || (!is_open && !along_tree)) return {.collective = name};
  const netem::Topology& topology = run.setting->topology;
  std::vector<int> tree = netem::reduction_tree_of(topology, static_cast<std::size_t>(run.workers));
  if (is_open && !tree_takes_less_time(topology, run.workers, tree)) return {.collective = "ring"};
  return {.collective = is_open ? "island" : name, .reduction_tree = std::move(tree)};
}

}  // namespace thinpipe
