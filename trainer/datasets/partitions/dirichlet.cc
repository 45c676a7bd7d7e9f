// SPDX-License-Identifier: Apache-2.0
// Label skew: for each class c, the workers' shares of its examples are a draw q_c ~ Dir(alpha, ..., alpha).
// A small alpha gives most of a class to one worker; a large one gives all workers nearly the same mixture.
// Yurochkin et al.: Bayesian Nonparametric Federated Learning of Neural Networks (ICML 2019).
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "common/support/options.hh"
#include "trainer/base/random_words.hh"
#include "trainer/datasets/partitions/groups.hh"

namespace thinpipe::trainer {
namespace {

struct DirichletOptions {
  double alpha = 0.5;

  void visit(auto& field) {
    field("alpha", alpha,
          Rule{.effect = "concentration: at 0.1 most examples of a class are on one or two workers, at 100 "
                         "workers have nearly the same mixture",
               .at_least = 1e-3,
               .at_most = 1e6});
  }
};

// Returns the logarithm of a draw from Gamma(shape, 1). Its draws for a small shape are too small for a
// double. Marsaglia, Tsang: A Simple Method for Generating Gamma Variables (2000).
double log_gamma_draw(double shape, RandomWords& words) {
  if (shape < 1) return log_gamma_draw(shape + 1, words) + std::log(words.uniform()) / shape;
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = words.normal();
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double log_v = 3 * std::log(root);
    const double v = root * root * root;
    if (std::log(words.uniform()) < x * x / 2 + d - d * v + d * log_v) return std::log(d) + log_v;
  }
}

// Returns one draw of the workers' shares, whose sum is 1.
std::vector<double> draw_shares(double alpha, std::int64_t workers, RandomWords& words) {
  std::vector<double> shares(static_cast<std::size_t>(workers));
  for (double& share : shares) share = log_gamma_draw(alpha, words);
  const double largest = *std::ranges::max_element(shares);
  for (double& share : shares) share = std::exp(share - largest);
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  return shares;
}

// A class is cut into one stretch of examples per worker. These are the stretches' ends; the first begins at 0.
using Ends = std::vector<std::int64_t>;

// Rounds the ends, not the lengths, so that each example is in one stretch.
Ends ends_of(const std::vector<double>& shares, std::int64_t size) {
  Ends ends;
  double reached = 0;
  for (const double share : shares) {
    reached += share;
    ends.push_back(std::min<std::int64_t>(size, std::llround(reached * static_cast<double>(size))));
  }
  ends.back() = size;
  return ends;
}

bool all_get_examples(const std::vector<Ends>& classes, std::int64_t workers) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(workers));
  for (const Ends& ends : classes) {
    std::int64_t begin = 0;
    for (std::size_t rank = 0; rank < counts.size(); begin = ends[rank++]) counts[rank] += ends[rank] - begin;
  }
  return std::ranges::none_of(counts, [](std::int64_t count) { return count == 0; });
}

void append_stretches(const Group& group, const Ends& ends, Parts& parts) {
  std::int64_t begin = 0;
  for (std::size_t rank = 0; rank < parts.size(); begin = ends[rank++]) {
    parts[rank].insert(parts[rank].end(), group.begin() + begin, group.begin() + ends[rank]);
  }
}

class Dirichlet : public Partition {
 public:
  Dirichlet(const DirichletOptions& options, Place place) : options_(options), place_(std::move(place)) {}

  DividedBy divided_by() const override { return DividedBy::classes; }

  std::optional<Parts> divide(const std::vector<std::int64_t>& keys, std::int64_t workers,
                              std::uint64_t seed) const override {
    std::vector<Group> classes = group_by_class(keys, place_);
    for (std::uint32_t draw = 0; draw < max_draws; ++draw) {
      RandomWords words({.seed = seed, .step = draw, .bucket = partition_purpose});
      std::vector<Ends> ends;
      for (const Group& group : classes) {
        ends.push_back(ends_of(draw_shares(options_.alpha, workers, words), std::ssize(group)));
      }
      if (!all_get_examples(ends, workers)) continue;
      Parts parts(static_cast<std::size_t>(workers));
      for (std::size_t c = 0; c < classes.size(); ++c) {
        words.shuffle(classes[c]);
        append_stretches(classes[c], ends[c], parts);
      }
      return sorted(std::move(parts));
    }
    throw InputError(place_ / "alpha",
                     fmt::format("leaves one of {} workers without examples in each of {} draws: set a value "
                                 "above {}, or use fewer workers",
                                 workers, max_draws, options_.alpha));
  }

 private:
  DirichletOptions options_;
  Place place_;
};

THINPIPE_REGISTER(Partition){
    "dirichlet", "non-iid: the workers' shares of each class are drawn from a Dirichlet distribution",
    describe_options<DirichletOptions>(), [](JsonObject& object) -> std::unique_ptr<Partition> {
      return std::make_unique<Dirichlet>(read_options<DirichletOptions>(object), object.place());
    }};

}  // namespace
}  // namespace thinpipe::trainer
