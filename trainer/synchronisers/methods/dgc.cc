// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "common/support/options.hh"
#include "trainer/base/philox.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/adjustable_ratio.hh"
#include "trainer/synchronisers/sparse/largest_entries.hh"
#include "trainer/synchronisers/sparse/local_momentum.hh"
#include "trainer/synchronisers/sparse/random_block_exchange.hh"
#include "trainer/synchronisers/sparse/sampled_top_k.hh"
#include "trainer/synchronisers/sparse/sparsifier.hh"
#include "trainer/synchronisers/warm_up.hh"

namespace thinpipe::trainer {
namespace {

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
// Instead of the largest entries, random_block keeps a block of each tensor at a place that is the same on every
// worker (gmc.cc): local momentum with the sparsifier of the GMC paper's version of 2024, to compare with.
//
// State: u and v, float32 [n]; with momentum and decay, m too. Each worker contributes at most 4 + 20 + 4k
// bytes and the indices; 20 + 4k and the indices if the selection is exact. With random_block, 4(Σk + 1) bytes go
// through an all-reduce.
struct DgcOptions {
  double ratio = 0.001;
  double momentum = 0.9;
  bool nesterov = false;
  bool masking = true;
  double clip = 0;
  double sample = 0.01;
  std::int64_t warm_up_steps = 0;
  std::string sparsifier = "top_k";
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
    field(
        "sparsifier", sparsifier,
        Rule{
            .effect =
                "kept entries: top_k, the largest of each tensor; random_block, successive ones of each tensor "
                "from a random start, the same on every worker, over packed all-reduce",
            .one_of = {"top_k", random_block_name}});
    field("indices", indices,
          Rule{.effect = "how the indices of top_k are encoded, as in topk",
               .one_of = Sparsifier::index_options()});
  }

  LocalMomentum::Options momentum_options() const {
    return {.momentum = momentum, .nesterov = nesterov, .masking = masking, .clip = clip};
  }
};

// Base: Synchroniser, or a class derived from it whose constructor takes `arguments`.
template <class Base>
class WithLocalMomentum : public Base, public AdjustableRatio {
 public:
  template <class... Arguments>
  WithLocalMomentum(const DgcOptions& options, const SynchroniserContext& context,
                    const Arguments&... arguments)
      : Base(arguments...),
        options_(options),
        warm_up_(options.ratio, options.warm_up_steps),
        momentum_(options.momentum_options(), context) {}

  double ratio() const final { return warm_up_.steady_state_ratio(); }
  void set_ratio(double ratio) final { warm_up_ = WarmUp(ratio, options_.warm_up_steps); }

  // The residual has earlier steps whatever the options, which properties() does not tell.
  Clipping clipping() const final { return Clipping::local; }

  void finish_dense(Bucket& bucket, int world_size) final { momentum_.finish_dense(bucket, world_size); }
  void finish_step(bool applied) final { momentum_.finish_step(applied); }
  void add_residual(Bucket& bucket) const final { momentum_.add_residual(bucket); }
  void adopt_masks(const std::vector<torch::Tensor>& kept) final { momentum_.adopt_masks(kept); }
  void save(TensorMap& state, const std::string& prefix) const final { momentum_.save(state, prefix); }
  void load(const TensorMap& state, const std::string& prefix) final { momentum_.load(state, prefix); }

 protected:
  MethodProperties with_momentum(MethodProperties properties) const {
    const bool is_biased = options_.momentum > 0 || options_.clip > 0;
    properties.estimate = is_biased ? Estimate::biased : Estimate::error_feedback;
    properties.applies_momentum = options_.momentum > 0;
    return properties;
  }

  const DgcOptions& options() const { return options_; }
  const WarmUp& warm_up() const { return warm_up_; }
  LocalMomentum& momentum() { return momentum_; }

 private:
  DgcOptions options_;
  WarmUp warm_up_;
  LocalMomentum momentum_;
};

class DgcTopK : public WithLocalMomentum<Sparsifier> {
 public:
  DgcTopK(const DgcOptions& options, const SynchroniserContext& context)
      : WithLocalMomentum(options, context, options.indices), seed_(context.seed) {}

  MethodProperties properties() const override { return with_momentum(Sparsifier::properties()); }

 protected:
  void accumulate(Bucket& bucket) override { momentum().accumulate(bucket, world_size()); }

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
               {.ratio = warm_up().ratio(step()), .sample = options().sample, .start = starts[s]})) {
        indices.push_back(static_cast<std::uint32_t>(slice.offset) + index);
      }
    }
    return indices;
  }

  void store_residual(const Bucket& bucket, std::span<const std::uint32_t> sent) override {
    momentum().mask(sent);
    momentum().store_residual(bucket);
  }

  void finish(Bucket& bucket) override { momentum().finish(bucket); }

  std::int64_t count_for(const Bucket& bucket) const override {
    return count_at(warm_up().ratio(step()), bucket);
  }
  std::int64_t steady_state_count_for(const Bucket& bucket) const override {
    return count_at(warm_up().steady_state_ratio(), bucket);
  }
  bool chooses_a_fixed_count() const override {
    return options().sample == 1 && !warm_up().changes_the_ratio();
  }

 private:
  static std::int64_t count_at(double ratio, const Bucket& bucket) {
    return count_of_largest(bucket, ratio, ChoiceScope::tensor);
  }

  std::uint64_t seed_;
};

class DgcRandomBlock : public WithLocalMomentum<Synchroniser> {
 public:
  DgcRandomBlock(const DgcOptions& options, const SynchroniserContext& context)
      : WithLocalMomentum(options, context), exchange_(context.seed) {}

  MethodProperties properties() const override {
    return with_momentum(
        {.all_reduce_compatible = true, .traffic_depends_on_data = warm_up().changes_the_ratio()});
  }

  bool leaves_dense(const ParameterInfo& parameter) const override { return parameter.dimensions <= 1; }

  void begin_step(std::uint64_t step) override {
    step_ = step;
    exchange_.begin_step(step);
  }

  void synchronise(Bucket& bucket, Collective& network) override {
    if (bucket.size == 0) return;
    momentum().accumulate(bucket, network.world_size());
    auto taken = exchange_.take(bucket, warm_up().ratio(step_));
    momentum().mask(taken.blocks);
    momentum().store_residual(bucket);
    RandomBlockExchange::average(std::move(taken), bucket, network);
    momentum().finish(bucket);
  }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    return RandomBlockExchange::traffic(bucket, warm_up().ratio(step_), world_size);
  }
  ExpectedTraffic steady_state_traffic(const Bucket& bucket, int world_size) const override {
    return RandomBlockExchange::traffic(bucket, warm_up().steady_state_ratio(), world_size);
  }

 private:
  RandomBlockExchange exchange_;
  std::uint64_t step_ = 0;
};

THINPIPE_REGISTER(Synchroniser){
    "dgc",
    "a locally accumulated momentum with error feedback: the largest entries over all-gather, or random blocks over "
    "packed all-reduce",
    describe_options<DgcOptions>(),
    [](JsonObject& object, const SynchroniserContext& context) -> std::unique_ptr<Synchroniser> {
      const auto options = read_options<DgcOptions>(object);
      if (options.nesterov && options.momentum == 0) {
        throw InputError(object.place_of("nesterov"), "needs momentum above 0");
      }
      if (options.sparsifier != random_block_name) return std::make_unique<DgcTopK>(options, context);
      const auto refuse = [&](const char* key, const char* why) {
        throw InputError(
            object.place_of(key),
            fmt::format("has no effect with \"sparsifier\": \"random_block\": {}; leave it out, or "
                        "choose \"sparsifier\": \"top_k\"",
                        why));
      };
      if (options.indices != DgcOptions{}.indices)
        refuse("indices", "every worker keeps the same entries, so no indices are sent");
      if (options.sample != DgcOptions{}.sample) refuse("sample", "blocks have no threshold");
      return std::make_unique<DgcRandomBlock>(options, context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
