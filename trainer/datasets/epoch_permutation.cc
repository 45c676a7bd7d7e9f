// SPDX-License-Identifier: Apache-2.0
#include "trainer/datasets/epoch_permutation.hh"

#include <numeric>

#include "trainer/base/random_words.hh"

namespace thinpipe::trainer {

std::vector<std::int64_t> epoch_permutation(std::int64_t examples, std::uint64_t seed, std::int64_t epoch,
                                            std::uint32_t rank) {
  std::vector<std::int64_t> permutation(static_cast<std::size_t>(examples));
  std::iota(permutation.begin(), permutation.end(), 0);
  RandomWords({.seed = seed,
               .step = static_cast<std::uint32_t>(epoch),
               .bucket = static_cast<std::uint32_t>(Purpose::batch_order),
               .rank = rank})
      .shuffle(permutation);
  return permutation;
}

}  // namespace thinpipe::trainer
