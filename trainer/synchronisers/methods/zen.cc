// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "common/support/options.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/entries/hashed_owners.hh"
#include "trainer/synchronisers/entries/push_pull.hh"
#include "trainer/synchronisers/entries/sparse_entries.hh"
#include "trainer/synchronisers/kept_entries.hh"
#include "trainer/synchronisers/messages.hh"
#include "trainer/synchronisers/sparse/nonzero_blocks.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {
namespace {

struct ZenOptions {
  void visit(auto& /*field*/) {}
};

// Lossless. Worker h(i) owns index i, and worker s owns the list L_s, ascending:
//   push:  to each owner (index, g_w[i]) of every non-zero entry; NaN is one
//   owner: m_i = (1/N)·Σ_w g_w[i] over L_s, ranks ascending
//   pull:  a bitmap over L_s of where m is not zero, and m there;  out[L_s[j]] = m_j, and 0 elsewhere
// Wang et al., Zen (OSDI 2025). Its second hash finds a slot in GPU memory and does not affect messages. In
// its published code 0 marks an empty slot, which loses index 0. Here the owners' lists are sorted by
// counting. An index is sent as its position j in L_s, which takes as many bytes and saves the owner a
// search. The paper also considers a hierarchical scheme; here it is always this one.
// No state: the lists, 4n bytes, follow from the seed.
// Payload 8z + ⌈|L_s|/8⌉ + 4u + 4N + 4 bytes: z entries are not zero on this worker, u sums of its list are
// not.
class Zen : public Synchroniser {
 public:
  explicit Zen(const SynchroniserContext& context) : kept_(context.kept), seed_(context.seed) {}

  MethodProperties properties() const override {
    return {.estimate = Estimate::exact, .traffic_depends_on_data = true};
  }

  // Lists are built when a bucket is first exchanged: the number of workers is not known before.
  void prepare(const std::vector<Bucket>& /*layout*/) override { owners_.clear(); }

  void adopt_masks(const std::vector<torch::Tensor>& kept) override { kept_.adopt(kept); }

  void synchronise(Bucket& bucket, Collective& network) override {
    const int world_size = network.world_size();
    const HashedOwners& owners = owners_of(bucket.size, world_size);
    const std::span<float> values = floats(bucket.gradient);
    Messages pushed;
    for (int owner = 0; owner < world_size; ++owner) pushed.push_back(nonzero_of(values, owners.of(owner)));
    const std::vector<float> means = mean_of(exchange_any(pushed, network), owners.of(network.rank()).size());

    const Messages pulled = gather_any(message_of(write_nonzero_blocks(means, 1)), network);
    for (int owner = 0; owner < world_size; ++owner) {
      const auto list = owners.of(owner);
      std::vector<float> theirs(list.size());
      add_nonzero_blocks(elements<std::uint8_t>(pulled[owner]), 1, theirs);
      for (std::size_t j = 0; j < list.size(); ++j) values[list[j]] = theirs[j];
    }
  }

  // Upper bound: every entry that pruning kept is non-zero on every worker.
  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    return push_pull_at_most(bytes_of_kept(bucket, world_size));
  }

  ExpectedTraffic steady_state_traffic(const Bucket& bucket, int world_size) const override {
    return push_pull_mean(bytes_of_kept(bucket, world_size));
  }

 private:
  const HashedOwners& owners_of(std::int64_t n, int world_size) {
    const std::pair key(n, world_size);
    const auto found = owners_.find(key);
    return found != owners_.end() ? found->second
                                  : owners_.emplace(key, HashedOwners(n, world_size, seed_)).first->second;
  }

  static torch::Tensor nonzero_of(std::span<const float> values, std::span<const std::uint32_t> list) {
    // Branch-free, because the branch would be unpredictable: each entry is written after the last one kept.
    std::vector<SparseEntry> entries(list.size() + 1);
    SparseEntry* next = entries.data();
    for (std::size_t j = 0; j < list.size(); ++j) {
      const float value = values[list[j]];
      *next = {static_cast<std::uint32_t>(j), value};
      next += value != 0 ? 1 : 0;
    }
    return message_of(write_entries({entries.data(), next}));
  }

  static std::vector<float> mean_of(const Messages& messages, std::size_t size) {
    std::vector<float> means(size);
    for (const torch::Tensor& message : messages) {
      for (const SparseEntry& entry : read_entries(elements<std::uint8_t>(message), 0, std::ssize(means))) {
        means[entry.index] += entry.value;
      }
    }
    const auto workers = static_cast<float>(messages.size());
    for (float& mean : means) mean /= workers;
    return means;
  }

  PushPullBytes bytes_of_kept(const Bucket& bucket, int world_size) const {
    const HashedOwners owners(bucket.size, world_size, seed_);
    const torch::Tensor mask = kept_.mask(bucket);
    const std::span<const bool> kept = elements<bool>(mask);
    PushPullBytes bytes;
    for (int owner = 0; owner < world_size; ++owner) {
      const auto list = owners.of(owner);
      const std::int64_t count = std::ranges::count_if(list, [&](std::uint32_t i) { return kept[i]; });
      bytes.pushed.push_back(sparse_entry_bytes * count);
      bytes.pulled.push_back(nonzero_blocks_bytes(std::ssize(list), 1, count));
    }
    return bytes;
  }

  KeptEntries kept_;
  std::uint64_t seed_;
  std::map<std::pair<std::int64_t, int>, HashedOwners> owners_;  // by n and the number of workers
};

THINPIPE_REGISTER(Synchroniser){
    "zen", "lossless: non-zero entries, summed by the worker that their index is hashed to",
    describe_options<ZenOptions>(), [](JsonObject& options, const SynchroniserContext& context) {
      read_options<ZenOptions>(options);
      return std::make_unique<Zen>(context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
