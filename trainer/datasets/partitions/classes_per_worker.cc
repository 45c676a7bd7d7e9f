// SPDX-License-Identifier: Apache-2.0
// Label skew: each worker has examples of c classes only. The classes, in random order, form a ring, and
// worker r takes the c classes from position r c on; workers with the same class divide it equally. After
// Sattler et al.: Robust and Communication-Efficient Federated Learning from Non-IID Data (TNNLS 2020), which
// leaves examples out to give workers equal numbers; here every example is used.
#include <numeric>

#include <fmt/format.h>

#include "common/support/options.hh"
#include "trainer/base/random_words.hh"
#include "trainer/datasets/partitions/groups.hh"

namespace thinpipe::trainer {
namespace {

struct ClassesPerWorkerOptions {
  std::int64_t classes = 2;

  void visit(auto& field) {
    field("classes", classes,
          Rule{.effect = "classes per worker; with all workers together at least the data set's",
               .at_least = 1});
  }
};

// Returns the ranks of the workers that have each class.
std::vector<std::vector<std::size_t>> deal_classes(std::int64_t classes, std::int64_t workers,
                                                   std::int64_t per_worker, RandomWords& words) {
  std::vector<std::int64_t> ring(static_cast<std::size_t>(classes));
  std::iota(ring.begin(), ring.end(), 0);
  words.shuffle(ring);
  std::vector<std::vector<std::size_t>> holders(ring.size());
  for (std::int64_t i = 0; i < workers * per_worker; ++i) {
    const std::int64_t dealt = ring[static_cast<std::size_t>(i % classes)];
    holders[static_cast<std::size_t>(dealt)].push_back(static_cast<std::size_t>(i / per_worker));
  }
  return holders;
}

class ClassesPerWorker : public Partition {
 public:
  ClassesPerWorker(const ClassesPerWorkerOptions& options, Place place)
      : per_worker_(options.classes), place_(std::move(place)) {}

  DividedBy divided_by() const override { return DividedBy::classes; }

  std::optional<Parts> divide(const std::vector<std::int64_t>& keys, std::int64_t workers,
                              std::uint64_t seed) const override {
    const std::vector<Group> classes = group_by_class(keys, place_);
    check(std::ssize(classes), workers);
    for (std::uint32_t draw = 0; draw < max_draws; ++draw) {
      RandomWords words({.seed = seed, .step = draw, .bucket = partition_purpose});
      const auto holders = deal_classes(std::ssize(classes), workers, per_worker_, words);
      Parts parts(static_cast<std::size_t>(workers));
      for (std::size_t c = 0; c < classes.size(); ++c) {
        Group shuffled = classes[c];
        words.shuffle(shuffled);
        const auto size = shuffled.size();
        for (std::size_t i = 0; i < holders[c].size(); ++i) {
          Group& part = parts[holders[c][i]];
          for (std::size_t at = size * i / holders[c].size(); at < size * (i + 1) / holders[c].size(); ++at)
            part.push_back(shuffled[at]);
        }
      }
      if (all_have_examples(parts)) return sorted(std::move(parts));
    }
    throw InputError(place_ / "classes",
                     fmt::format("leaves one of {} workers without examples in each of {} draws, because "
                                 "classes have fewer examples than workers: set a value above {}, or use "
                                 "fewer workers",
                                 workers, max_draws, per_worker_));
  }

 private:
  void check(std::int64_t classes, std::int64_t workers) const {
    if (per_worker_ > classes) {
      throw InputError(place_ / "classes",
                       fmt::format("must be at most {}, the number of classes in the training set, but is {}",
                                   classes, per_worker_));
    }
    const std::int64_t least = (classes + workers - 1) / workers;
    if (per_worker_ < least) {
      throw InputError(place_ / "classes",
                       fmt::format("must be at least {}, so that {} workers have all {} classes, but is {}",
                                   least, workers, classes, per_worker_));
    }
  }

  std::int64_t per_worker_;
  Place place_;
};

THINPIPE_REGISTER(Partition){"classes_per_worker", "non-iid: each worker has examples of a few classes only",
                             describe_options<ClassesPerWorkerOptions>(),
                             [](JsonObject& object) -> std::unique_ptr<Partition> {
                               return std::make_unique<ClassesPerWorker>(
                                   read_options<ClassesPerWorkerOptions>(object), object.place());
                             }};

}  // namespace
}  // namespace thinpipe::trainer
