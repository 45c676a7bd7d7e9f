// SPDX-License-Identifier: Apache-2.0
// Natural skew: all examples of a source, such as a file or a speaker, are on one worker. The sources, in
// random order, each go to the worker that has the fewest examples so far. Caldas et al.: LEAF: A Benchmark
// for Federated Settings (2018) has one client per source.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "trainer/base/random_words.hh"
#include "trainer/datasets/partitions/groups.hh"

namespace thinpipe::trainer {
namespace {

class BySource : public Partition {
 public:
  explicit BySource(Place place) : place_(std::move(place)) {}

  DividedBy divided_by() const override { return DividedBy::sources; }

  std::optional<Parts> divide(const std::vector<std::int64_t>& keys, std::int64_t workers,
                              std::uint64_t seed) const override {
    if (keys.empty()) {
      throw InputError(place_ / "name",
                       "needs the source of each example, which this data set does not have; bytes has one "
                       "for each file, and tensors takes an array train_sources");
    }
    const std::vector<Group> sources = group_by(keys);
    if (std::ssize(sources) < workers) {
      throw InputError(place_ / "name",
                       fmt::format("gives each worker at least one source, but the training set has only {} "
                                   "for {} workers; use fewer workers, or another partition",
                                   sources.size(), workers));
    }
    std::vector<std::int64_t> order(sources.size());
    std::iota(order.begin(), order.end(), 0);
    RandomWords({.seed = seed, .bucket = partition_purpose}).shuffle(order);
    Parts parts(static_cast<std::size_t>(workers));
    for (const std::int64_t source : order) {
      const Group& group = sources[static_cast<std::size_t>(source)];
      Group& least = *std::ranges::min_element(parts, {}, [](const Group& part) { return part.size(); });
      least.insert(least.end(), group.begin(), group.end());
    }
    return sorted(std::move(parts));
  }

 private:
  Place place_;
};

THINPIPE_REGISTER(Partition){"by_source",
                             "non-iid: all examples of a source, such as a file, are on one worker",
                             Json::array(), [](JsonObject& object) -> std::unique_ptr<Partition> {
                               return std::make_unique<BySource>(object.place());
                             }};

}  // namespace
}  // namespace thinpipe::trainer
