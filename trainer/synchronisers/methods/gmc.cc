// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "common/support/options.hh"
#include "trainer/synchronisers/adjustable_ratio.hh"
#include "trainer/synchronisers/global_momentum.hh"
#include "trainer/synchronisers/sparse/largest_entries.hh"
#include "trainer/synchronisers/sparse/random_block_exchange.hh"
#include "trainer/synchronisers/sparse/sparsifier.hh"

namespace thinpipe::trainer {
namespace {

// Global Momentum Compression: the momentum is the last movement of the weights, the same on every worker,
// instead of a momentum per worker. With learning rates η, on each worker:
//   g = gradient at w_t - λ·η_t·e;  acc = g - (μ/η_{t-1})·(w_t - w_{t-1}) + e
//   send acc[I];  e' = acc off I, 0 on I;  out = the mean over workers of what they sent
// GMC has λ = 0, GMC+ λ = detached > 0. The entries I are
//   top_k: of each bucket or tensor of n entries the k largest |acc|, k = max(1, floor(ratio·n)), each worker's own
//   random_block (RBGS): for each tensor of n entries k successive ones from a random start, the last being
//     followed by the first, drawn alike on every worker in every step
// Each worker adds the whole movement, so the mean over workers contains it once. Zhao et al., Global
// Momentum Compression for Sparse Communication in Distributed SGD (2019); GMC+ and RBGS: Shi et al., Global
// Momentum Compression for Sparse Communication in Distributed Learning (arXiv 1905.12948v3, 2024).
//
// Only the abstract of the version of 2024 was available. The point of evaluation and the blocks are those of
// Detached Error Feedback: Xu and Huang, Detached Error Feedback for Distributed SGD with Random
// Sparsification (ICML 2022), whose published code has λ = 0.3 and the reducer URSB. We assume that GMC+
// combines this point with GMC's momentum, and that RBGS is URSB. That code keeps e in units of weights; ours
// are gradients, so e shrinks with the learning rate. It also sparsifies biases and normalisation layers,
// which are dense here, and it evaluates test accuracy at w less the mean of e; ours is that of w.
//
// The paper divides by η_t. Here the movement is divided by the rate that caused it. If everything is kept,
// this is SGD with PyTorch's momentum under any schedule, and a warm-up from a tiny rate does not enlarge the
// movement. The term is absent in the first step and after a step with a rate of 0. It carries the rounding
// of the weights, 2^-24·|w|·μ/η_{t-1}. It contains weight decay and any other movement of the weights, except
// pruning. Parameters left dense have the term too, subtracted from the mean over workers.
//
// The result estimates the mean of g less the movement, and the residual holds the rest, so the estimate is
// `error_feedback` only without momentum.
//
// State: e and w_{t-1}, float32 [n]; η_{t-1}. With top_k each worker contributes 20 + 4k bytes and the
// indices to an all-gather. With random_block, 4(Σk + 1) bytes go through an all-reduce. The additional
// element is NaN if any of a worker's acc is not finite: otherwise an entry off the blocks would hide it.
struct GmcOptions {
  double ratio = 0.01;
  double momentum = 0.9;
  std::string sparsifier = "top_k";
  double detached = 0;
  std::string scope = "bucket";
  std::string indices = "u32";

  void visit(auto& field) {
    field("ratio", ratio,
          Rule{.effect = "kept fraction of the entries of a bucket or tensor", .above = 0, .at_most = 1});
    field("momentum", momentum, Rule{.effect = "momentum coefficient", .at_least = 0, .below = 1});
    field("sparsifier", sparsifier,
          Rule{.effect = "kept entries: top_k, the largest; random_block, successive ones of each "
                         "tensor from a random start, the same on every worker, over packed all-reduce",
               .one_of = {"top_k", random_block_name}});
    field("detached", detached,
          Rule{.effect =
                   "GMC+ if above 0: each worker's gradient is evaluated where this share of its residual "
                   "would move the weights",
               .at_least = 0,
               .at_most = 1});
    field("scope", scope,
          Rule{.effect = "top_k keeps the largest entries of each bucket, or of each tensor, as dgc does",
               .one_of = {"bucket", "tensor"}});
    field("indices", indices,
          Rule{.effect = "how the indices of top_k are encoded, as in topk",
               .one_of = Sparsifier::index_options()});
  }

  GlobalMomentum::Options momentum_options() const { return {.momentum = momentum, .detached = detached}; }
};

// Base: Synchroniser, or a class derived from it whose constructor takes `arguments`.
template <class Base>
class WithGlobalMomentum : public Base, public AdjustableRatio {
 public:
  template <class... Arguments>
  WithGlobalMomentum(const GmcOptions& options, const SynchroniserContext& context,
                     const Arguments&... arguments)
      : Base(arguments...),
        ratio_(options.ratio),
        applies_momentum_(options.momentum > 0),
        momentum_(options.momentum_options(), context) {}

  double ratio() const final { return ratio_; }
  void set_ratio(double ratio) final { ratio_ = ratio; }

  void set_learning_rate(double learning_rate) final { momentum_.set_learning_rate(learning_rate); }
  bool uses_learning_rate() const final { return applies_momentum_ || shifts_evaluation(); }

  void begin_step(std::uint64_t step) override {
    Base::begin_step(step);
    momentum_.begin_step();
  }

  bool shifts_evaluation() const final { return momentum_.shifts_evaluation(); }
  torch::Tensor evaluation_shift(std::size_t parameter) const final {
    return momentum_.evaluation_shift(parameter);
  }

  void finish_dense(Bucket& bucket, int /*world_size*/) final { momentum_.subtract_movement(bucket); }
  void finish_step(bool applied) final { momentum_.finish_step(applied); }
  void add_residual(Bucket& bucket) const final { momentum_.add_residual(bucket); }
  void adopt_masks(const std::vector<torch::Tensor>& kept) final { momentum_.adopt_masks(kept); }
  void save(TensorMap& state, const std::string& prefix) const final { momentum_.save(state, prefix); }
  void load(const TensorMap& state, const std::string& prefix) final { momentum_.load(state, prefix); }

 protected:
  MethodProperties with_momentum(MethodProperties properties) const {
    properties.estimate = applies_momentum_ ? Estimate::biased : Estimate::error_feedback;
    properties.applies_momentum = applies_momentum_;
    return properties;
  }

  GlobalMomentum& momentum() { return momentum_; }

 private:
  double ratio_;
  bool applies_momentum_;
  GlobalMomentum momentum_;
};

class GmcTopK : public WithGlobalMomentum<Sparsifier> {
 public:
  GmcTopK(const GmcOptions& options, const SynchroniserContext& context)
      : WithGlobalMomentum(options, context, options.indices),
        scope_(options.scope == "tensor" ? ChoiceScope::tensor : ChoiceScope::bucket) {}

  MethodProperties properties() const override { return with_momentum(Sparsifier::properties()); }

 protected:
  void accumulate(Bucket& bucket) override { momentum().accumulate(bucket); }

  std::vector<std::uint32_t> choose(const Bucket& bucket) override {
    return largest_entries(bucket, ratio(), scope_);
  }

  void store_residual(const Bucket& bucket, std::span<const std::uint32_t> /*sent*/) override {
    momentum().store_residual(bucket);
  }

  std::int64_t count_for(const Bucket& bucket) const override {
    return count_of_largest(bucket, ratio(), scope_);
  }

 private:
  ChoiceScope scope_;
};

class GmcRandomBlock : public WithGlobalMomentum<Synchroniser> {
 public:
  GmcRandomBlock(const GmcOptions& options, const SynchroniserContext& context)
      : WithGlobalMomentum(options, context), exchange_(context.seed) {}

  MethodProperties properties() const override { return with_momentum({.all_reduce_compatible = true}); }

  bool leaves_dense(const ParameterInfo& parameter) const override { return parameter.dimensions <= 1; }

  void begin_step(std::uint64_t step) override {
    WithGlobalMomentum::begin_step(step);
    exchange_.begin_step(step);
  }

  void synchronise(Bucket& bucket, Collective& network) override {
    if (bucket.size == 0) return;
    momentum().accumulate(bucket);
    auto taken = exchange_.take(bucket, ratio());
    momentum().store_residual(bucket);
    RandomBlockExchange::average(std::move(taken), bucket, network);
  }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    return RandomBlockExchange::traffic(bucket, ratio(), world_size);
  }

 private:
  RandomBlockExchange exchange_;
};

THINPIPE_REGISTER(Synchroniser){
    "gmc",
    "gradient plus global momentum with error feedback: the largest entries over all-gather, or random blocks over "
    "packed all-reduce",
    describe_options<GmcOptions>(),
    [](JsonObject& object, const SynchroniserContext& context) -> std::unique_ptr<Synchroniser> {
      const auto options = read_options<GmcOptions>(object);
      if (options.sparsifier != random_block_name) return std::make_unique<GmcTopK>(options, context);
      const auto refuse = [&object](const char* option, const char* what) {
        throw InputError(
            object.place_of(option),
            fmt::format("has no effect with \"sparsifier\": \"random_block\": {}; leave it out, or choose "
                        "\"sparsifier\": \"top_k\"",
                        what));
      };
      if (options.indices != GmcOptions{}.indices)
        refuse("indices", "every worker keeps the same entries, so no indices are sent");
      if (options.scope != GmcOptions{}.scope) refuse("scope", "blocks are always of tensors");
      return std::make_unique<GmcRandomBlock>(options, context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
