#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "harness/support/options.hh"
#include "trainer/philox.hh"
#include "trainer/synchronisers/messages.hh"
#include "trainer/synchronisers/packed/packed_entries.hh"
#include "trainer/synchronisers/quantised/random_index.hh"
#include "trainer/synchronisers/quantised/ternary.hh"
#include "trainer/synchronisers/residual.hh"
#include "trainer/synchronisers/sparse/index_code.hh"
#include "trainer/synchronisers/sparse/kept_count.hh"
#include "trainer/synchronisers/sparse/top_k.hh"
#include "trainer/synchronisers/synchroniser.hh"
#include "trainer/tensor_span.hh"

namespace thinpipe::trainer {
namespace {

struct IwpOptions {
  double ratio = 1.0 / 64;
  std::int64_t voters = 1;

  void visit(auto& field) {
    field("ratio", ratio,
          Rule{.effect = "fraction of each tensor's entries that one voter wants sent",
               .above = 0,
               .at_most = 1});
    field(
        "voters", voters,
        Rule{
            .effect =
                "workers that say which entries all send, drawn anew for every bucket and step; of more than "
                "there are, all",
            .at_least = 1});
  }
};

// Importance-weighted pruning of gradients. Of each bucket of n entries:
//   acc = g + e
//   of each tensor of n_l entries every voter v wants I_v, the max(1, floor(ratio·n_l)) largest
//     |acc_i| / max(|w_i|, 1e-3·rms(w));  broadcasts it as a bitmap;  M = the union of all I_v
//   out = Σ_w acc_w[M]/N  by an all-reduce of these entries packed;  e' = acc off M, 0 on M, on all workers
// Cheng and Xu, Bandwidth Reduction using Importance Weighted Pruning on Ring AllReduce (2019). Only its
// abstract was at hand, which has the ratio of gradient to weight and the random nodes that broadcast their
// masks: the quantile for a threshold, the floor under small weights, error feedback, and bitmaps are ours. A
// tensor whose weights are all zero goes by |acc|. There is no momentum correction. One more element, NaN
// where a worker's acc is not finite, travels with the packed ones: what a voter does not want would hide it.
// State: e, float32 [n]. Payload 4(|M| + 1) bytes by all-reduce; a voter broadcasts ⌈n/8⌉.
class Iwp : public Synchroniser {
 public:
  Iwp(const IwpOptions& options, const SynchroniserContext& context)
      : options_(options), seed_(context.seed), weights_(context.weights), residual_(context.parameters) {}

  Promises promises() const override {
    return {.estimate = Estimate::delayed,
            .sums_of_messages_are_messages = true,
            .traffic_depends_on_data = true};
  }

  bool leaves_dense(const ParameterInfo& parameter) const override { return parameter.dimensions <= 1; }

  void begin_step(std::uint64_t step) override { step_ = step; }
  void finish_step(bool applied) override { applied ? residual_.commit() : residual_.discard(); }
  void add_held_back(Bucket& bucket) const override { residual_.add_to(bucket); }
  void adopt_masks(const std::vector<torch::Tensor>& kept) override { residual_.drop_pruned(kept); }
  void save(TensorMap& state, const std::string& prefix) const override { residual_.save(state, prefix); }
  void load(const TensorMap& state, const std::string& prefix) override { residual_.load(state, prefix); }

  void synchronise(Bucket& bucket, Collective& network) override {
    if (bucket.size == 0) return;
    residual_.add_to(bucket);
    const PackedEntries entries(union_of_votes(bucket, network));
    const std::span<float> values = floats(bucket.gradient);
    const torch::Tensor packed = torch::empty({entries.packed_size() + 1});
    const std::span<float> sent = floats(packed);
    entries.gather(values, static_cast<float>(network.world_size()), sent);
    sent.back() = std::isinf(ternary_scale(values)) ? std::numeric_limits<float>::quiet_NaN() : 0.0F;
    for (const std::uint32_t index : entries.indices()) values[index] = 0;
    residual_.stage(bucket, bucket.gradient);

    network.all_reduce(packed, Reduction::sum);
    entries.scatter(sent, values);
    if (!std::isfinite(sent.back())) values.front() = sent.back();
  }

  // At most: the root of a binomial tree sends the most, and no two voters want the same entry.
  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    if (bucket.size == 0) return {};
    const std::int64_t voters = voter_count(world_size);
    std::int64_t entries = 1;
    for (const Slice& slice : bucket.slices) {
      entries += std::min(slice.size, voters * kept_count(options_.ratio, slice.size));
    }
    const std::int64_t sends = binomial_broadcast_sends(0, 0, world_size);
    const ExpectedTraffic broadcasts{static_cast<double>(bitmap_bytes(bucket)),
                                     static_cast<double>(voters * sends * bitmap_bytes(bucket))};
    return broadcasts + all_reduce_traffic(4 * entries, world_size);
  }

  // The mean over workers, of voters that want entries independently of each other.
  ExpectedTraffic settled_traffic(const Bucket& bucket, int world_size) const override {
    if (bucket.size == 0) return {};
    const std::int64_t voters = voter_count(world_size);
    double entries = 1;
    for (const Slice& slice : bucket.slices) {
      if (slice.size == 0) continue;
      const auto size = static_cast<double>(slice.size);
      const double unwanted = 1 - static_cast<double>(kept_count(options_.ratio, slice.size)) / size;
      entries += size * (1 - std::pow(unwanted, voters));
    }
    const double broadcast = static_cast<double>(voters * bitmap_bytes(bucket)) / world_size;
    return ExpectedTraffic{broadcast, broadcast * (world_size - 1)} +
           all_reduce_traffic(4 * std::llround(entries), world_size);
  }

 private:
  static constexpr double least_weight = 1e-3;  // of the root mean square of a tensor's

  static std::int64_t bitmap_bytes(const Bucket& bucket) { return (bucket.size + 7) / 8; }

  std::int64_t voter_count(int world_size) const {
    return std::min<std::int64_t>(options_.voters, world_size);
  }

  // The first of a permutation that all workers draw alike.
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

  // bool [n], the same on every worker.
  torch::Tensor union_of_votes(const Bucket& bucket, Collective& network) const {
    torch::Tensor wanted = torch::zeros({bitmap_bytes(bucket)}, torch::kByte);
    for (const int voter : voters(bucket, network.world_size())) {
      const torch::Tensor vote = voter == network.rank() ? own_vote(bucket) : torch::empty_like(wanted);
      network.broadcast(vote, voter);
      wanted.bitwise_or_(vote);
    }
    const std::span<const std::uint8_t> bytes = elements<std::uint8_t>(wanted);
    torch::Tensor out = torch::empty({bucket.size}, torch::kBool);
    const std::span<bool> bits = elements<bool>(out);
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = ((bytes[i / 8] >> (i % 8)) & 1) != 0;
    return out;
  }

  torch::Tensor own_vote(const Bucket& bucket) const {
    std::vector<std::uint32_t> indices;
    for (const Slice& slice : bucket.slices) {
      const auto wanted = static_cast<std::size_t>(kept_count(options_.ratio, slice.size));
      for (const std::uint32_t index : top_k_indices(importance(bucket, slice), wanted)) {
        indices.push_back(static_cast<std::uint32_t>(slice.offset) + index);
      }
    }
    std::vector<std::uint8_t> bitmap;
    make_index_code("bitmap")->append(indices, static_cast<std::uint32_t>(bucket.size), bitmap);
    return message_of(std::move(bitmap));
  }

  std::vector<float> importance(const Bucket& bucket, const Slice& slice) const {
    if (weights_.empty())
      throw Error("iwp: it was made without the model's weights, which importance goes by");
    const torch::Tensor on_cpu = weights_[slice.parameter].detach().to(torch::kCPU).view(-1);
    const std::span<const float> weights = floats(on_cpu);
    double squares = 0;
    for (const float weight : weights) squares += static_cast<double>(weight) * weight;
    const auto floor =
        static_cast<float>(least_weight * std::sqrt(squares / static_cast<double>(slice.size)));
    const std::span<const float> values = floats(bucket.view(slice));
    std::vector<float> out(values.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const float weight = floor > 0 ? std::max(std::abs(weights[i]), floor) : 1;
      out[i] = std::abs(values[i]) / weight;
    }
    return out;
  }

  IwpOptions options_;
  std::uint64_t seed_;
  std::uint64_t step_ = 0;
  std::vector<torch::Tensor> weights_;
  Residual residual_;
};

THINPIPE_REGISTER(Synchroniser){
    "iwp", "entries that are large for their weight, by the vote of a few workers, over packed all-reduce",
    describe_options<IwpOptions>(), [](JsonObject& options, const SynchroniserContext& context) {
      return std::make_unique<Iwp>(read_options<IwpOptions>(options), context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
