// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numeric>

#include "common/support/options.hh"
#include "trainer/base/philox.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/adjustable_ratio.hh"
#include "trainer/synchronisers/bucket_weights.hh"
#include "trainer/synchronisers/residual.hh"
#include "trainer/synchronisers/sparse/kept_count.hh"
#include "trainer/synchronisers/sparse/sampled_top_k.hh"
#include "trainer/synchronisers/sparse/sparsifier.hh"
#include "trainer/synchronisers/sparse/warm_up.hh"

namespace thinpipe::trainer {
namespace {

struct DgcOptions {
  double ratio = 0.001;
  double momentum = 0.9;
  bool nesterov = false;
  bool masking = true;
  double clip = 0;
  double sample = 0.01;
  std::int64_t warm_up_steps = 0;
  std::string indices = "u32";

  void visit(auto& field) {
    field("ratio", ratio, Rule{.effect = "kept fraction of each tensor's entries", .above = 0, .at_most = 1});
    field("momentum", momentum, Rule{.effect = "momentum coefficient", .at_least = 0, .below = 1});
    field("nesterov", nesterov, Rule{.effect = "Nesterov's momentum; needs momentum above 0"});
    field("masking", masking, Rule{.effect = "clear the momentum of entries that are sent"});
    field("clip", clip,
          Rule{.effect = "clip each bucket's gradient to this norm divided by the square root of the number "
                         "of workers; 0: never",
               .at_least = 0});
    field("sample", sample,
          Rule{.effect = "fraction of a tensor that is sampled to find its threshold; 1: keep exactly the "
                         "largest entries",
               .above = 0,
               .at_most = 1});
    field("warm_up_steps", warm_up_steps, WarmUp::rule());
    field("indices", indices,
          Rule{.effect = "how indices are encoded, as in topk", .one_of = Sparsifier::index_options()});
  }
};

// Deep Gradient Compression: momentum is applied before sparsification, so entries that wait keep their
// momentum. For each tensor of n entries:
//   u = μu + g;  v += u        or, Nesterov's:   u = μ(u + g);  v += u + g
//   I = the k largest |v|, k = max(1, floor(ratio·n));  send v[I];  v[I] = 0;  u[I] = 0 if masking
// The optimiser adds weight decay λ·w, the same on every worker. Its momentum is kept here, separately:
//   m' = μm + λw;  out += μm         or, Nesterov's:   out += μm'
// If everything is kept, without masking and clipping, this is SGD with momentum and decay, as in PyTorch.
// Lin et al. (ICLR 2018).
//
// Their code and ours find the threshold in a sample. If more than k entries reach it, theirs keeps the
// lowest indices and ours the largest entries. They clip by the norm of the whole gradient, ‖g‖ <=
// clip·N^(-1/2), which is not known when its first bucket is sent; we clip by each bucket's norm. The warm-up
// is the paper's: kept fractions of 1/4, 1/16 and so on while they are above `ratio`, for equally many steps
// each; their code's fraction falls more slowly. Parameters left dense have the same momentum, applied to the
// mean over workers, as in their code. They are also clipped after that mean, to the largest norm that a mean
// of clipped gradients can have.
//
// With momentum or clipping the result does not estimate the mean of the gradients, so the estimate is
// `error_feedback` only without both.
//
// State: u and v, float32 [n]; with momentum and decay, m too. Each worker contributes at most 4 + 20 + 4k
// bytes and the indices; 20 + 4k and the indices if the selection is exact.
class Dgc : public Sparsifier, public AdjustableRatio {
 public:
  Dgc(const DgcOptions& options, const SynchroniserContext& context)
      : Sparsifier(options.indices),
        options_(options),
        seed_(context.seed),
        weights_(context.weights),
        weight_decay_(context.weight_decay),
        warm_up_(options.ratio, options.warm_up_steps),
        momentum_(context.parameters),
        residual_(context.parameters) {
    if (options.momentum > 0 && weight_decay_ > 0) decay_momentum_.emplace(context.parameters);
  }

  double ratio() const override { return warm_up_.steady_state_ratio(); }
  void set_ratio(double ratio) override { warm_up_ = WarmUp(ratio, options_.warm_up_steps); }

  MethodProperties properties() const override {
    MethodProperties properties = Sparsifier::properties();
    if (options_.momentum > 0 || options_.clip > 0) properties.estimate = Estimate::biased;
    properties.applies_momentum = options_.momentum > 0;
    return properties;
  }

  // The residual has earlier steps whatever the options, which properties() does not tell.
  Clipping clipping() const override { return Clipping::local; }

  void finish_dense(Bucket& bucket, int world_size) override {
    if (options_.clip > 0) clip(bucket.gradient, world_size);
    accumulate_momentum(bucket);
    momentum_.stage(bucket, momentum_in_hand_);
    add_decay_momentum(bucket);
  }

  void finish_step(bool applied) override {
    for (StagedState* state : std::array<StagedState*, 2>{&momentum_, &residual_})
      applied ? state->commit() : state->discard();
    if (decay_momentum_) applied ? decay_momentum_->commit() : decay_momentum_->discard();
  }

  void add_residual(Bucket& bucket) const override { residual_.add_to(bucket); }

  void adopt_masks(const std::vector<torch::Tensor>& kept) override {
    momentum_.drop_pruned(kept);
    residual_.drop_pruned(kept);
    if (decay_momentum_) decay_momentum_->drop_pruned(kept);
  }

  void save(TensorMap& state, const std::string& prefix) const override {
    momentum_.save(state, prefix + "momentum.");
    residual_.save(state, prefix);
    if (decay_momentum_) decay_momentum_->save(state, prefix + "decay_momentum.");
  }

  void load(const TensorMap& state, const std::string& prefix) override {
    momentum_.load(state, prefix + "momentum.");
    residual_.load(state, prefix);
    if (decay_momentum_) decay_momentum_->load(state, prefix + "decay_momentum.");
  }

 protected:
  void accumulate(Bucket& bucket) override {
    if (options_.clip > 0) clip(bucket.gradient, world_size());
    accumulate_momentum(bucket);
    residual_.add_to(bucket);
  }

  std::vector<std::uint32_t> choose(const Bucket& bucket) override {
    std::vector<std::uint32_t> starts(bucket.slices.size());
    fill_words({.seed = seed_,
                .step = static_cast<std::uint32_t>(step()),
                .bucket = static_cast<std::uint32_t>(bucket.index),
                .rank = static_cast<std::uint32_t>(rank())},
               starts);
    std::vector<std::uint32_t> indices;
    for (std::size_t s = 0; s < bucket.slices.size(); ++s) {
      const Slice& slice = bucket.slices[s];
      for (const std::uint32_t index : sampled_top_k_indices(
               floats(bucket.view(slice)),
               {.ratio = warm_up_.ratio(step()), .sample = options_.sample, .start = starts[s]})) {
        indices.push_back(static_cast<std::uint32_t>(slice.offset) + index);
      }
    }
    return indices;
  }

  void store_residual(const Bucket& bucket, std::span<const std::uint32_t> sent) override {
    if (options_.masking) {
      const std::span<float> momentum = floats(momentum_in_hand_);
      for (const std::uint32_t index : sent) momentum[index] = 0;
    }
    momentum_.stage(bucket, momentum_in_hand_);
    residual_.stage(bucket, bucket.gradient);
  }

  void finish(Bucket& bucket) override { add_decay_momentum(bucket); }

  std::int64_t count_for(const Bucket& bucket) const override {
    return count_at(warm_up_.ratio(step()), bucket);
  }
  std::int64_t steady_state_count_for(const Bucket& bucket) const override {
    return count_at(warm_up_.steady_state_ratio(), bucket);
  }
  bool chooses_a_fixed_count() const override {
    return options_.sample == 1 && !warm_up_.changes_the_ratio();
  }

 private:
  // Replaces bucket.gradient by the momentum step, and sets momentum_in_hand_ to the new momentum.
  void accumulate_momentum(Bucket& bucket) {
    const torch::Tensor& gradient = bucket.gradient;
    momentum_in_hand_ = torch::empty({bucket.size});
    for (const Slice& slice : bucket.slices) {
      momentum_in_hand_.narrow(0, slice.offset, slice.size).copy_(momentum_.of(slice.parameter));
    }
    if (options_.nesterov) {
      momentum_in_hand_.add_(gradient).mul_(options_.momentum);
      gradient.add_(momentum_in_hand_);
    } else {
      momentum_in_hand_.mul_(options_.momentum).add_(gradient);
      gradient.copy_(momentum_in_hand_);
    }
  }

  // Adds the momentum of earlier steps' decay; the optimiser adds this step's decay.
  void add_decay_momentum(Bucket& bucket) {
    if (!decay_momentum_) return;
    const torch::Tensor momentum = torch::empty({bucket.size});
    for (const Slice& slice : bucket.slices) {
      momentum.narrow(0, slice.offset, slice.size).copy_(decay_momentum_->of(slice.parameter));
    }
    momentum.mul_(options_.momentum);
    if (!options_.nesterov) bucket.gradient.add_(momentum);
    momentum.add_(bucket_weights(weights_, bucket, "dgc"), weight_decay_);
    if (options_.nesterov) bucket.gradient.add_(momentum, options_.momentum);
    decay_momentum_->stage(bucket, momentum);
  }

  static std::int64_t count_at(double ratio, const Bucket& bucket) {
    std::int64_t count = 0;
    for (const Slice& slice : bucket.slices) count += kept_count(ratio, slice.size);
    return count;
  }

  // Clips `gradient`. The norm is summed in order, so it does not depend on the number of threads.
  void clip(torch::Tensor gradient, int world_size) const {
    const std::span<const float> values = floats(gradient);
    const double norm = std::sqrt(std::accumulate(values.begin(), values.end(), 0.0, [](double sum, float x) {
      return sum + static_cast<double>(x) * x;
    }));
    const double bound = options_.clip / std::sqrt(world_size);
    if (norm > bound) gradient.mul_(bound / norm);
  }

  DgcOptions options_;
  std::uint64_t seed_;
  std::vector<torch::Tensor> weights_;
  double weight_decay_;  // λ
  WarmUp warm_up_;
  StagedState momentum_;                       // u
  Residual residual_;                          // v
  std::optional<StagedState> decay_momentum_;  // m
  torch::Tensor momentum_in_hand_;             // of the current bucket
};

THINPIPE_REGISTER(Synchroniser){
    "dgc", "the largest entries of a locally accumulated momentum, over all-gather",
    describe_options<DgcOptions>(), [](JsonObject& object, const SynchroniserContext& context) {
      const auto options = read_options<DgcOptions>(object);
      if (options.nesterov && options.momentum == 0) {
        throw InputError(object.place_of("nesterov"), "needs momentum above 0");
      }
      return std::make_unique<Dgc>(options, context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
