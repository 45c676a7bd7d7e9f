// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "common/support/options.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/adjustable_ratio.hh"
#include "trainer/synchronisers/entries/entry_code.hh"
#include "trainer/synchronisers/entries/ok_topk_choice.hh"
#include "trainer/synchronisers/messages.hh"
#include "trainer/synchronisers/residual.hh"
#include "trainer/synchronisers/sparse/kept_count.hh"
#include "trainer/synchronisers/synchroniser.hh"
#include "trainer/synchronisers/vectors_option.hh"

namespace thinpipe::trainer {
namespace {

struct OkTopkOptions {
  double ratio = 0.01;
  std::int64_t threshold_every = 32;
  std::int64_t boundaries_every = 64;
  std::string indices = "u32";
  std::string vectors = "dense";

  void visit(auto& field) {
    field("ratio", ratio,
          Rule{.effect = "approximate kept fraction of the entries", .above = 0, .at_most = 1});
    field("threshold_every", threshold_every,
          Rule{.effect = "steps between exact estimates of the thresholds that entries are chosen by",
               .at_least = 1});
    field("boundaries_every", boundaries_every,
          Rule{.effect = "steps between new partitions of the entries among the workers that sum them",
               .at_least = 1});
    field("indices", indices,
          Rule{.effect = "how indices are encoded: u32, 4 bytes each; u16, 2 bytes in parts of a region",
               .one_of = EntryCode::options()});
    field("vectors", vectors, vectors_rule());
  }
};

// Sparse all-reduce with near-minimal traffic. With k = max(1, floor(ratio·n)):
//   acc = g + e;  I = {|acc| > θ};  (i, acc_i) of I go to the owner of the region of i: S, their sums
//   G = {|S| > Θ}, all-gathered;  out[G] = S[G]/N;  e' = acc, but 0 on G ∩ I
// Nothing is lost, whatever the thresholds. Every 32 steps θ becomes exactly the k-th largest |acc| and Θ the
// k-th largest |S|, for which each owner gathers its k largest sums. Between these estimates θ grows by 1.2 %
// if |I| > 5k/4, and shrinks by as much if |I| < 2k/3. Θ shrinks by 0.8 % if |G| < 2k/3. Every 64 steps the
// regions are computed again: each worker computes those that give every owner the same number of entries of
// its I, and their mean is used.
//
// Thresholds that change by a percent per step cannot follow a ratio that `netsense` raises. If k has grown,
// θ becomes exact in that step, and each owner gathers its k/N largest sums, of which Θ is the k-th largest.
// An exact Θ takes up to N times as many sums, and netsense would mistake their time for a slow network.
//
// Li & Hoefler, Ok-Topk (PPoPP 2022). Above 4k/3 its published code raises a threshold by at most 16 %, which
// bounds nothing once the learning rate has fallen. Here the choice is then exact, k of |acc| or 4k/3 of an
// owner's sums, and the threshold becomes that of the k largest. The published code also reduces densely for
// 512 steps and sends indices as floats. If one owner has 4 times the mean, the paper spreads entries evenly
// before gathering them; here they are gathered as they are.
//
// State: e, float32 [n]; per bucket an age, the latest k, two thresholds and N + 1 boundaries, which are
// reset in a new layout. Payload about 8k + 8k/N bytes, at most 8·4k/3 twice; 4N + 4 for sizes; 8(N - 1) with
// new regions. With u16, 6 bytes per entry instead of 8, and 4 per message and per 65536 elements.
class OkTopk : public Synchroniser, public AdjustableRatio {
 public:
  OkTopk(const OkTopkOptions& options, const SynchroniserContext& context)
      : options_(options), code_(options.indices), residual_(context.parameters) {}

  MethodProperties properties() const override {
    return {.estimate = Estimate::error_feedback, .traffic_depends_on_data = true};
  }

  double ratio() const override { return options_.ratio; }
  void set_ratio(double ratio) override { options_.ratio = ratio; }

  bool leaves_dense(const ParameterInfo& parameter) const override {
    return stays_dense(parameter, options_.vectors);
  }

  void prepare(const std::vector<Bucket>& layout) override {
    sizes_.clear();
    for (const Bucket& bucket : layout) sizes_.push_back(bucket.size);
    choices_.assign(layout.size(), {});
  }

  void finish_step(bool applied) override {
    applied ? residual_.commit() : residual_.discard();
    for (auto& [bucket, choice] : staged_) {
      if (applied) choices_[bucket] = std::move(choice);
    }
    staged_.clear();
  }

  void add_residual(Bucket& bucket) const override { residual_.add_to(bucket); }
  void adopt_masks(const std::vector<torch::Tensor>& kept) override { residual_.drop_pruned(kept); }

  void synchronise(Bucket& bucket, Collective& network) override {
    const int workers = network.world_size();
    const std::int64_t k = kept_count(options_.ratio, bucket.size);
    OkTopkChoice choice = choices_.at(bucket.index);
    // Before the first step, or if the checkpoint is from another number of workers.
    if (std::ssize(choice.boundaries) != workers + 1) choice = {};
    const bool is_due = choice.age % options_.threshold_every == 0;
    const bool estimates = is_due || k > choice.latest_k;
    const std::int64_t k_of_region = estimates && !is_due ? (k + workers - 1) / workers : k;

    residual_.add_to(bucket);
    const std::span<float> values = floats(bucket.gradient);
    const std::vector<std::uint32_t> own = choice.choose_own(values, k, estimates);
    if (choice.age % options_.boundaries_every == 0) choice.divide_anew(own, bucket.size, network);
    const Messages received = exchange_any(split_by_owner(values, own, choice.boundaries), network);
    const std::vector<float> sums = sums_of_region(received, choice.boundaries, network.rank());
    const torch::Tensor message =
        encoded(choice.choose_of_region(sums, k_of_region, estimates, network.rank()),
                range_of(choice.boundaries, static_cast<std::size_t>(network.rank())));
    const std::vector<SparseEntry> all =
        choice.choose_of_all(join(gather_any(message, network), choice.boundaries), k, estimates);

    for (const SparseEntry& entry : all) {
      if (std::ranges::binary_search(own, entry.index)) values[entry.index] = 0;
    }
    residual_.stage(bucket, bucket.gradient);
    bucket.gradient.zero_();
    for (const SparseEntry& entry : all) values[entry.index] = entry.value / static_cast<float>(workers);
    ++choice.age;
    choice.latest_k = k;
    staged_[bucket.index] = std::move(choice);
  }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    const auto most =
        static_cast<double>(OkTopkChoice::largest_count(kept_count(options_.ratio, bucket.size)));
    // Owners have disjoint regions, which together hold no more than all entries.
    const double from_others = std::min((world_size - 1) * most, static_cast<double>(bucket.size));
    const double to_owners = world_size == 1 ? 0 : bytes_of(most);
    const double to_all = bytes_of(from_others);
    // Heads of messages with short indices: all regions together, once to the owners and once from them.
    const double heads = head_bytes(bucket.size, world_size);
    const ExpectedTraffic entries{
        .payload_bytes = 2 * (bytes_of(most) + heads),
        .sent_bytes = to_owners + to_all + 2 * heads,
        .pairwise_bytes = to_owners + heads,
        .gathered_bytes = to_all + heads,
        .delivered_bytes = (world_size - 1) * (bytes_of(most) + heads) + to_all + heads};
    return sizes_traffic(world_size) + entries + all_reduce_traffic(8 * (world_size - 1), world_size);
  }

  // k entries to the owners and k from all of them together. In a step with exact estimates it is k from each
  // owner if the workers' indices do not overlap. The boundaries of new regions are negligible.
  ExpectedTraffic steady_state_traffic(const Bucket& bucket, int world_size) const override {
    const auto k = static_cast<double>(kept_count(options_.ratio, bucket.size));
    const double usual = k / world_size;
    const double gathered = usual + (k - usual) / static_cast<double>(options_.threshold_every);
    // Bytes of one region's message besides its entries, with short indices.
    const double heads = head_bytes(bucket.size, world_size) / world_size;
    const double leaving = world_size - 1;
    const double to_owners = leaving * (bytes_of(k / world_size) + heads);
    const double to_all = leaving * (bytes_of(gathered) + heads);
    const ExpectedTraffic entries{.payload_bytes = bytes_of(k + gathered) + heads * (world_size + 1),
                                  .sent_bytes = to_owners + to_all,
                                  .pairwise_bytes = to_owners,
                                  .gathered_bytes = to_all,
                                  .delivered_bytes = to_owners + to_all};
    return sizes_traffic(world_size) + entries;
  }

  void save(TensorMap& state, const std::string& prefix) const override {
    residual_.save(state, prefix);
    for (std::size_t b = 0; b < choices_.size(); ++b) {
      if (choices_[b].age > 0) save_ok_topk_choice(choices_[b], state, prefix_of_bucket(prefix, b));
    }
  }

  // Call after prepare().
  void load(const TensorMap& state, const std::string& prefix) override {
    residual_.load(state, prefix);
    for (std::size_t b = 0; b < choices_.size(); ++b) {
      choices_[b] = load_ok_topk_choice(state, prefix_of_bucket(prefix, b), sizes_[b]);
    }
  }

 private:
  double bytes_of(double entries) const { return static_cast<double>(code_.entry_bytes()) * entries; }

  // Returns the bytes of messages without entries for all regions, at most.
  double head_bytes(std::int64_t elements, int regions) const {
    const auto whole = static_cast<double>(code_.bytes(elements, 0));
    return whole == 0 ? 0 : whole + (regions - 1) * static_cast<double>(code_.bytes(1, 0));
  }

  static std::string prefix_of_bucket(const std::string& prefix, std::size_t bucket) {
    return fmt::format("{}bucket_{}.", prefix, bucket);
  }

  static ExpectedTraffic sizes_traffic(int world_size) {
    return exchanged_sizes_traffic(world_size) + gathered_sizes_traffic(world_size);
  }

  static IndexRange range_of(std::span<const std::int64_t> boundaries, std::size_t rank) {
    return {.begin = boundaries[rank], .end = boundaries[rank + 1]};
  }

  torch::Tensor encoded(std::span<const SparseEntry> entries, const IndexRange& region) const {
    std::vector<std::uint8_t> message;
    code_.append(entries, region, message);
    return message_of(message);
  }

  // Returns the entries in each owner's region.
  Messages split_by_owner(std::span<const float> values, std::span<const std::uint32_t> own,
                          std::span<const std::int64_t> boundaries) const {
    Messages messages;
    auto next = own.begin();
    for (std::size_t r = 0; r + 1 < boundaries.size(); ++r) {
      const IndexRange region = range_of(boundaries, r);
      std::vector<SparseEntry> entries;
      for (; next != own.end() && *next < region.end; ++next) entries.push_back({*next, values[*next]});
      messages.push_back(encoded(entries, region));
    }
    return messages;
  }

  // Sums in ascending order of rank.
  std::vector<float> sums_of_region(const Messages& received, std::span<const std::int64_t> boundaries,
                                    int rank) const {
    const IndexRange region = range_of(boundaries, static_cast<std::size_t>(rank));
    std::vector<float> sums(static_cast<std::size_t>(region.size()));
    for (const torch::Tensor& message : received) {
      for (const SparseEntry& entry : code_.read(elements<std::uint8_t>(message), region))
        sums[static_cast<std::size_t>(entry.index - region.begin)] += entry.value;
    }
    return sums;
  }

  std::vector<SparseEntry> join(const Messages& gathered, std::span<const std::int64_t> boundaries) const {
    std::vector<SparseEntry> all;
    for (std::size_t r = 0; r < gathered.size(); ++r) {
      std::ranges::copy(code_.read(elements<std::uint8_t>(gathered[r]), range_of(boundaries, r)),
                        std::back_inserter(all));
    }
    return all;
  }

  OkTopkOptions options_;
  EntryCode code_;
  Residual residual_;
  std::vector<std::int64_t> sizes_;             // per bucket
  std::vector<OkTopkChoice> choices_;           // per bucket
  std::map<std::size_t, OkTopkChoice> staged_;  // of the current step, by bucket
};

THINPIPE_REGISTER(Synchroniser){
    "ok_topk",
    "approximately the largest entries, chosen by thresholds and summed by owners, with error feedback",
    describe_options<OkTopkOptions>(), [](JsonObject& options, const SynchroniserContext& context) {
      return std::make_unique<OkTopk>(read_options<OkTopkOptions>(options), context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
