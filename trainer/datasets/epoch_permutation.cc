#include "trainer/datasets/epoch_permutation.hh"

#include <numeric>
#include <utility>

#include "trainer/base/philox.hh"

namespace thinpipe::trainer {
namespace {

// The words of one random stream, in order.
class WordSource {
 public:
  WordSource(std::uint64_t seed, std::int64_t epoch)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)},
        counter_{static_cast<std::uint32_t>(epoch), static_cast<std::uint32_t>(Purpose::batch_order),
                 shared_rank, 0} {}

  std::uint32_t next() {
    if (used_ == block_.size()) {
      block_ = philox(key_, counter_);
      ++counter_[3];
      used_ = 0;
    }
    return block_[used_++];
  }

  // Returns a number uniform on 0..bound-1. Lemire: Fast Random Integer Generation in an Interval (2019).
  std::uint32_t below(std::uint32_t bound) {
    std::uint64_t product = static_cast<std::uint64_t>(next()) * bound;
    const std::uint32_t uneven = (0U - bound) % bound;  // 2^32 mod bound
    while (static_cast<std::uint32_t>(product) < uneven) product = static_cast<std::uint64_t>(next()) * bound;
    return static_cast<std::uint32_t>(product >> 32U);
  }

 private:
  PhiloxKey key_;
  PhiloxBlock counter_;
  PhiloxBlock block_{};
  std::size_t used_ = 4;  // words of block_ already returned
};

}  // namespace

std::vector<std::int64_t> epoch_permutation(std::int64_t examples, std::uint64_t seed, std::int64_t epoch) {
  std::vector<std::int64_t> permutation(static_cast<std::size_t>(examples));
  std::iota(permutation.begin(), permutation.end(), 0);
  WordSource words(seed, epoch);
  for (std::size_t remaining = permutation.size(); remaining > 1; --remaining) {
    const std::size_t chosen = words.below(static_cast<std::uint32_t>(remaining));
    std::swap(permutation[remaining - 1], permutation[chosen]);
  }
  return permutation;
}

}  // namespace thinpipe::trainer
