// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "common/support/options.hh"
#include "trainer/base/byte_codes.hh"
#include "trainer/base/philox.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/bucket_weights.hh"
#include "trainer/synchronisers/packed/layer_counts.hh"
#include "trainer/synchronisers/packed/packed_entries.hh"
#include "trainer/synchronisers/quantised/random_index.hh"
#include "trainer/synchronisers/quantised/sums.hh"
#include "trainer/synchronisers/residual.hh"
#include "trainer/synchronisers/sparse/index_vote.hh"
#include "trainer/synchronisers/sparse/kept_count.hh"
#include "trainer/synchronisers/sparse/top_k.hh"
#include "trainer/synchronisers/synchroniser.hh"
#include "trainer/synchronisers/warm_up.hh"

namespace thinpipe::trainer {
namespace {

struct IwpOptions {
  double ratio = 1.0 / 64;
  std::string threshold = "importance";
  double alpha = 0.01;
  std::string scope = "bucket";
  std::int64_t voters = 1;
  std::int64_t warm_up_steps = 0;

  void visit(auto& field) {
    field("ratio", ratio,
          Rule{.effect = "fraction of the entries that each voter selects; with a fixed threshold, the "
                         "fraction that plans assume",
               .above = 0,
               .at_most = 1});
    field(
        "threshold", threshold,
        Rule{.effect = "which entries a voter selects: importance, those of largest importance across "
                       "tensors; share, that fraction of each tensor; fixed, those of importance above alpha",
             .one_of = {"importance", "share", "fixed"}});
    field("alpha", alpha,
          Rule{.effect = "for fixed: the importance above which entries are selected", .above = 0});
    field("scope", scope,
          Rule{.effect = "for importance and fixed: select within each bucket or within the whole model; the "
                         "model is one bucket, so communication does not overlap with compute",
               .one_of = {"bucket", "model"}});
    field("voters", voters,
          Rule{.effect = "number of workers that select the entries all workers send, redrawn for every "
                         "bucket and step; all workers if there are fewer",
               .at_least = 1});
    field("warm_up_steps", warm_up_steps, WarmUp::rule());
  }
};

// Importance-weighted pruning of gradients. For each bucket of n entries:
//   acc = g + e;  importance_i = |acc_i| / max(|w_i|, 1e-3·rms(w)), w the weights of i's tensor
//   I_v = the max(1, floor(ratio·n)) entries of largest importance, for every voter v, which broadcasts I_v;
//     with "share", the same for each tensor of n entries; with "fixed", all entries of importance above alpha
//   M = the union of all I_v
//   out = Σ_w acc_w[M]/N  by an all-reduce of these entries packed;  e' = acc off M, 0 on M, on all workers
// Cheng and Xu, Bandwidth Reduction using Importance Weighted Pruning on Ring AllReduce (2019). Only its
// abstract was available. It has the ratio of gradient to weight, a threshold on it, and the random nodes
// that broadcast their masks. The quantile as threshold, the floor under small weights, error feedback, DGC's
// warm-up and the encoding of masks are ours. With a fixed threshold, the number of entries depends on the
// data. A tensor whose weights are all zero uses the bucket's rms for the floor; if these weights are all zero
// too, it uses |acc|. There is no momentum correction. The packed entries have one more element, which is NaN
// if any of a worker's acc is not finite: otherwise an entry that no voter selects would hide it.
//
// State: e, float32 [n], and the number of entries of M by layer and step. Payload 4(|M| + 1) bytes by
// all-reduce. A voter also broadcasts its vote in the shorter of two forms: a bit for every entry, or Golomb's
// code of I_v padded to its maximum length, about 8 bits per entry at the default ratio. With "fixed" it
// broadcasts |I_v| first, 4 bytes, and no vote if that is 0.
class Iwp : public Synchroniser {
 public:
  Iwp(const IwpOptions& options, const SynchroniserContext& context)
      : options_(options),
        warm_up_(options.ratio, options.warm_up_steps),
        seed_(context.seed),
        weights_(context.weights),
        residual_(context.parameters),
        exchanged_(context.parameters) {
    for (const torch::Tensor& weights : weights_) weights_now_.push_back(torch::empty({weights.numel()}));
  }

  MethodProperties properties() const override {
    return {
        .estimate = Estimate::error_feedback, .all_reduce_compatible = true, .traffic_depends_on_data = true};
  }

  bool leaves_dense(const ParameterInfo& parameter) const override { return parameter.dimensions <= 1; }
  bool needs_one_bucket() const override { return options_.scope == "model"; }

  // Copies the weights, because an exchange that overlaps with later steps would find those of some of these.
  void begin_step(std::uint64_t step) override {
    step_ = step;
    for (std::size_t p = 0; p < weights_.size(); ++p) weights_now_[p].copy_(weights_[p].detach().view(-1));
  }
  void add_residual(Bucket& bucket) const override { residual_.add_to(bucket); }
  void adopt_masks(const std::vector<torch::Tensor>& kept) override { residual_.drop_pruned(kept); }

  void finish_step(bool applied) override {
    applied ? residual_.commit() : residual_.discard();
    applied ? exchanged_.commit() : exchanged_.discard();
  }

  // Returns the size of M by layer over the steps, as in LayerCounts::state().
  Json state() const override { return exchanged_.state(); }

  void save(TensorMap& state, const std::string& prefix) const override {
    residual_.save(state, prefix);
    exchanged_.save(state, prefix);
  }
  void load(const TensorMap& state, const std::string& prefix) override {
    residual_.load(state, prefix);
    exchanged_.load(state, prefix);
  }

  void synchronise(Bucket& bucket, Collective& network) override {
    if (bucket.size == 0) return;
    residual_.add_to(bucket);
    const PackedEntries entries(union_of_votes(bucket, network));
    const std::span<float> values = floats(bucket.gradient);
    const torch::Tensor packed = torch::empty({entries.packed_size() + 1});
    const std::span<float> sent = floats(packed);
    entries.gather(values, static_cast<float>(network.world_size()), sent);
    sent.back() = std::isinf(largest_magnitude(values)) ? std::numeric_limits<float>::quiet_NaN() : 0.0F;
    const std::vector<std::uint32_t> indices = entries.indices();
    for (const std::uint32_t index : indices) values[index] = 0;
    residual_.stage(bucket, bucket.gradient);
    exchanged_.stage(bucket, indices);

    network.all_reduce(packed, Reduction::sum);
    entries.scatter(sent, values);
    if (!std::isfinite(sent.back())) values.front() = sent.back();
  }

  // Upper bound: the root of a binomial tree sends the most, and no two voters select the same entry. A fixed
  // threshold may select all entries.
  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    if (bucket.size == 0) return {};
    const double ratio = warm_up_.ratio(step_);
    const std::int64_t voters = voter_count(world_size);
    std::int64_t entries = 1;
    for (const std::int64_t size : choices(bucket)) {
      entries += selects_any_number() ? size : std::min(size, voters * kept_count(ratio, size));
    }
    const std::int64_t sends = binomial_broadcast_sends(0, 0, world_size);
    const std::int64_t count = selects_any_number() ? bucket.size : planned_count(bucket, ratio);
    const std::int64_t vote = count_bytes() + IndexVote(bucket.size, count).bytes();
    const ExpectedTraffic broadcasts{.payload_bytes = static_cast<double>(vote),
                                     .sent_bytes = static_cast<double>(voters * sends * vote),
                                     .delivered_bytes = static_cast<double>(voters * vote)};
    return broadcasts + all_reduce_traffic(4 * entries, world_size);
  }

  // Mean over workers, for voters that select entries independently of each other.
  ExpectedTraffic steady_state_traffic(const Bucket& bucket, int world_size) const override {
    if (bucket.size == 0) return {};
    const std::int64_t voters = voter_count(world_size);
    double entries = 1;
    for (const std::int64_t size : choices(bucket)) {
      if (size == 0) continue;
      const double wanted = static_cast<double>(kept_count(options_.ratio, size)) / static_cast<double>(size);
      entries += static_cast<double>(size) * (1 - std::pow(1 - wanted, voters));
    }
    const IndexVote vote(bucket.size, planned_count(bucket, options_.ratio));
    return broadcast_traffic(voters * (count_bytes() + vote.bytes()), world_size) +
           all_reduce_traffic(4 * std::llround(entries), world_size);
  }

 private:
  static constexpr double min_weight = 1e-3;  // of the tensor's root mean square

  bool selects_any_number() const { return options_.threshold == "fixed"; }
  std::int64_t count_bytes() const { return selects_any_number() ? vote_count_bytes : 0; }

  // Returns the number of entries that a voter selects; with a fixed threshold, the number that plans assume.
  std::int64_t planned_count(const Bucket& bucket, double ratio) const {
    std::int64_t count = 0;
    for (const std::int64_t size : choices(bucket)) count += kept_count(ratio, size);
    return count;
  }

  // Returns the number of candidates in each selection that a voter makes.
  std::vector<std::int64_t> choices(const Bucket& bucket) const {
    if (options_.threshold != "share") return {bucket.size};
    std::vector<std::int64_t> sizes;
    for (const Slice& slice : bucket.slices) sizes.push_back(slice.size);
    return sizes;
  }

  std::int64_t voter_count(int world_size) const {
    return std::min<std::int64_t>(options_.voters, world_size);
  }

  // Returns the first workers of a permutation, which all workers draw alike.
  std::vector<int> voters(const Bucket& bucket, int world_size) const {
    std::vector<int> ranks(static_cast<std::size_t>(world_size));
    std::iota(ranks.begin(), ranks.end(), 0);
    std::vector<std::uint32_t> words(static_cast<std::size_t>(voter_count(world_size)));
    fill_words({.seed = seed_,
                .step = static_cast<std::uint32_t>(step_),
                .bucket = static_cast<std::uint32_t>(bucket.index)},
               words);
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::swap(ranks[i], ranks[i + random_index(words[i], ranks.size() - i)]);
    }
    ranks.resize(words.size());
    return ranks;
  }

  // Returns bool [n], the same on every worker.
  torch::Tensor union_of_votes(const Bucket& bucket, Collective& network) const {
    torch::Tensor wanted = torch::zeros({bucket.size}, torch::kBool);
    const std::span<bool> is_wanted = elements<bool>(wanted);
    for (const int voter : voters(bucket, network.world_size())) {
      std::vector<std::uint32_t> selected;
      if (voter == network.rank())
        selected = selects_any_number() ? above_alpha(bucket) : most_important(bucket);
      const std::int64_t count = selects_any_number() ? broadcast_count(std::ssize(selected), voter, network)
                                                      : planned_count(bucket, warm_up_.ratio(step_));
      if (count == 0) continue;
      const IndexVote vote(bucket.size, count);
      for (const std::uint32_t index : vote.broadcast(selected, voter, network)) is_wanted[index] = true;
    }
    return wanted;
  }

  std::vector<std::uint32_t> above_alpha(const Bucket& bucket) const {
    const std::vector<float> importance = importance_of(bucket);
    std::vector<std::uint32_t> indices;
    for (std::size_t i = 0; i < importance.size(); ++i) {
      if (importance[i] > options_.alpha) indices.push_back(static_cast<std::uint32_t>(i));
    }
    return indices;
  }

  std::vector<std::uint32_t> most_important(const Bucket& bucket) const {
    const std::vector<float> importance = importance_of(bucket);
    std::vector<std::uint32_t> indices;
    std::size_t begin = 0;
    for (const std::int64_t size : choices(bucket)) {
      const auto among = std::span(importance).subspan(begin, static_cast<std::size_t>(size));
      const auto count = static_cast<std::size_t>(kept_count(warm_up_.ratio(step_), size));
      for (const std::uint32_t index : top_k_indices(among, count)) {
        indices.push_back(static_cast<std::uint32_t>(begin) + index);
      }
      begin += among.size();
    }
    return indices;
  }

  std::vector<float> importance_of(const Bucket& bucket) const {
    const torch::Tensor copied = bucket_weights(weights_now_, bucket, "iwp");
    const std::span<const float> weights = floats(copied);
    const std::span<const float> values = floats(bucket.gradient);
    const double size_of_all = root_mean_square(weights);
    std::vector<float> importance(values.size());
    for (const Slice& slice : bucket.slices) {
      const auto begin = static_cast<std::size_t>(slice.offset);
      const auto end = begin + static_cast<std::size_t>(slice.size);
      const double own_size = root_mean_square(weights.subspan(begin, end - begin));
      const auto floor = static_cast<float>(min_weight * (own_size > 0 ? own_size : size_of_all));
      for (std::size_t i = begin; i < end; ++i) {
        const float weight = floor > 0 ? std::max(std::abs(weights[i]), floor) : 1;
        importance[i] = std::abs(values[i]) / weight;
      }
    }
    return importance;
  }

  static double root_mean_square(std::span<const float> values) {
    if (values.empty()) return 0;
    const double squares = sum_of(values, [](double value) { return value * value; });
    return std::sqrt(squares / static_cast<double>(values.size()));
  }

  IwpOptions options_;
  WarmUp warm_up_;
  std::uint64_t seed_;
  std::uint64_t step_ = 0;
  std::vector<torch::Tensor> weights_;      // the parameters themselves
  std::vector<torch::Tensor> weights_now_;  // at the beginning of the exchange, flat
  Residual residual_;
  LayerCounts exchanged_;
};

THINPIPE_REGISTER(Synchroniser){
    "iwp",
    "entries that are large relative to their weight, selected by a few voters, over packed all-reduce",
    describe_options<IwpOptions>(), [](JsonObject& object, const SynchroniserContext& context) {
      const auto options = read_options<IwpOptions>(object);
      if (options.scope == "model" && options.threshold == "share") {
        throw InputError(
            object.place_of("scope"),
            "\"model\" needs \"threshold\": \"importance\" or \"fixed\": a share is taken of each tensor");
      }
      if (options.threshold == "fixed" && options.warm_up_steps > 0) {
        throw InputError(object.place_of("warm_up_steps"),
                         "must be 0 with \"threshold\": \"fixed\", because a warm-up changes the ratio");
      }
      if (options.threshold != "fixed" && options.alpha != IwpOptions{}.alpha) {
        throw InputError(object.place_of("alpha"),
                         "has an effect only with \"threshold\": \"fixed\"; remove it or set the threshold");
      }
      return std::make_unique<Iwp>(options, context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
