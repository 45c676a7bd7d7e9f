#include "harness/plan/run.hh"

#include <algorithm>

#include "harness/plan/exchange.hh"
#include "harness/plan/run_id.hh"
#include "netem/topology/worker_tree.hh"

namespace thinpipe {
namespace {

// Returns whether an all-reduce occupies the slowest link for less time along the tree than around the ring.
// True if no link is capped, because a tree has fewer hops.
bool tree_takes_less_time(const netem::Topology& topology, std::int64_t workers) {
  const SentBytes sent{.around_ring = 1};
  const auto around_ring = predict_exchange(topology, workers, sent);
  const std::vector<int> tree = netem::worker_tree(topology, static_cast<std::size_t>(workers));
  return !around_ring || predict_exchange(topology, workers, sent, tree)->time_s < around_ring->time_s;
}

}  // namespace

Json Run::config() const {
  Json config = setting->config;
  config.update(training->config);
  return config;
}

Json Run::decisive() const {
  Json content = setting->content;
  content.update(training->content);
  return decisive_part(config(), content);
}

Json Run::plan() const {
  Json plan = training->plan;
  if (mode != Mode::converge && plan.is_object()) plan["collective"] = collective();
  return plan;
}

bool Run::id_is_final() const {
  return std::ranges::none_of(training->content, [](const Json& hash) { return hash.is_null(); });
}

std::string Run::collective() const {
  if (trainer) return collective_without_network;
  static const Json::json_pointer place("/collective/name");
  const std::string name = training->config.value(place, collective_without_network);
  if (name != "auto") return name;
  return tree_takes_less_time(setting->topology, workers) ? "island" : "ring";
}

std::vector<int> Run::tree() const {
  if (mode == Mode::converge) return sum_tree;
  static const Json::json_pointer all_reduce("/collective/all_reduce");
  const bool along_tree = collective() == "island" || training->config.value(all_reduce, "") == "tree";
  if (!along_tree) return {};
  return netem::worker_tree(setting->topology, static_cast<std::size_t>(workers));
}

bool Run::needs_network() const {
  const bool measures_computing = mode == Mode::simulate && !profile;
  return (mode == Mode::live || mode == Mode::replay || measures_computing) &&
         setting->topology.kind != netem::TopologyKind::loopback;
}

}  // namespace thinpipe
