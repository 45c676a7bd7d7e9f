// SPDX-License-Identifier: Apache-2.0
#include "trainer/synchronisers/deepreduce/bloom_choice.hh"

#include <algorithm>
#include <numeric>

#include "trainer/synchronisers/quantised/random_index.hh"

namespace thinpipe::trainer {
namespace {

std::vector<std::uint32_t> words_of(const RandomStream& stream, std::size_t count) {
  std::vector<std::uint32_t> words(count);
  fill_words(stream, words);
  return words;
}

// For each bit of a filter: the positives with a hash on it, as positions in their list.
class ConflictSets {
 public:
  ConflictSets(const BloomFilter& filter, std::span<const std::uint32_t> positives)
      : begins_(static_cast<std::size_t>(filter.bits()) + 1) {
    std::vector<std::size_t> bits;
    const auto for_each_member = [&](const auto& add) {
      for (std::size_t i = 0; i < positives.size(); ++i) {
        bits.clear();
        for (int hash = 0; hash < filter.hashes(); ++hash) bits.push_back(filter.bit_of(positives[i], hash));
        std::ranges::sort(bits);
        const auto repeated = std::ranges::unique(bits);
        bits.erase(repeated.begin(), repeated.end());
        for (const std::size_t bit : bits) add(bit, static_cast<std::uint32_t>(i));
      }
    };
    for_each_member([&](std::size_t bit, std::uint32_t /*member*/) { ++begins_[bit + 1]; });
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    members_.resize(begins_.back());
    std::vector<std::size_t> ends(begins_);
    for_each_member([&](std::size_t bit, std::uint32_t member) { members_[ends[bit]++] = member; });
  }

  // Returns the non-empty sets, the smallest first.
  std::vector<std::span<std::uint32_t>> by_size() {
    std::vector<std::span<std::uint32_t>> sets;
    for (std::size_t bit = 0; bit + 1 < begins_.size(); ++bit) {
      if (begins_[bit] == begins_[bit + 1]) continue;
      sets.push_back(std::span(members_).subspan(begins_[bit], begins_[bit + 1] - begins_[bit]));
    }
    std::ranges::stable_sort(sets, {}, [](std::span<std::uint32_t> set) { return set.size(); });
    return sets;
  }

 private:
  std::vector<std::size_t> begins_;  // the members of bit b are from begins_[b] to begins_[b + 1]
  std::vector<std::uint32_t> members_;
};

}  // namespace

// Knuth's algorithm S: takes each with probability (number still wanted) / (number still left).
std::vector<std::uint32_t> choose_at_random(std::span<const std::uint32_t> positives, std::size_t count,
                                            const RandomStream& stream) {
  const std::vector<std::uint32_t> words = words_of(stream, positives.size());
  std::vector<std::uint32_t> chosen;
  chosen.reserve(count);
  for (std::size_t i = 0; i < positives.size(); ++i) {
    if (random_index(words[i], positives.size() - i) < count - chosen.size()) chosen.push_back(positives[i]);
  }
  return chosen;
}

std::vector<std::uint32_t> choose_by_conflicts(const BloomFilter& filter,
                                               std::span<const std::uint32_t> positives, std::size_t count,
                                               const RandomStream& stream) {
  const std::vector<std::uint32_t> words = words_of(stream, count);
  ConflictSets conflicts(filter, positives);
  std::vector<std::span<std::uint32_t>> sets = conflicts.by_size();
  std::vector<bool> is_taken(positives.size());
  std::vector<std::uint32_t> chosen;
  chosen.reserve(count);
  while (chosen.size() < count) {
    for (std::span<std::uint32_t>& set : sets) {
      if (chosen.size() == count) break;
      const auto gone = std::ranges::remove_if(set, [&](std::uint32_t member) { return is_taken[member]; });
      set = set.first(set.size() - gone.size());
      if (!gone.empty() || set.empty()) continue;
      std::swap(set[random_index(words[chosen.size()], set.size())], set.back());
      is_taken[set.back()] = true;
      chosen.push_back(positives[set.back()]);
      set = set.first(set.size() - 1);
    }
  }
  std::ranges::sort(chosen);
  return chosen;
}

}  // namespace thinpipe::trainer
