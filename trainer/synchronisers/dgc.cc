#include <cmath>
#include <numeric>

#include "harness/support/options.hh"
#include "trainer/philox.hh"
#include "trainer/synchronisers/bucket_weights.hh"
#include "trainer/synchronisers/residual.hh"
#include "trainer/synchronisers/sparse/kept_count.hh"
#include "trainer/synchronisers/sparse/sampled_top_k.hh"
#include "trainer/synchronisers/sparse/sparsifier.hh"
#include "trainer/synchronisers/sparse/warm_up.hh"
#include "trainer/tensor_span.hh"

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
    field("momentum", momentum, Rule{.effect = "share of the last step kept", .at_least = 0, .below = 1});
    field("nesterov", nesterov, Rule{.effect = "Nesterov's momentum; needs momentum above 0"});
    field("masking", masking, Rule{.effect = "entries that are sent lose their momentum"});
    field("clip", clip,
          Rule{.effect = "a bucket's gradient is scaled down to a norm of this over the root of the number "
                         "of workers; 0: never",
               .at_least = 0});
    field("sample", sample,
          Rule{.effect = "fraction of a tensor that its threshold is found in; 1: exactly the largest "
                         "entries are kept",
               .above = 0,
               .at_most = 1});
    field("warm_up_steps", warm_up_steps, WarmUp::rule());
    field("indices", indices,
          Rule{.effect = "how places are written, as topk's indices", .one_of = Sparsifier::places_names()});
  }
};

// Deep Gradient Compression: momentum before sparsification, so that an entry that waits loses nothing of it.
// Of each tensor of n entries:
//   u = μu + g;  v += u        or, Nesterov's:   u = μ(u + g);  v += u + g
//   I = the k largest |v|, k = max(1, floor(ratio·n));  send v[I];  v[I] = 0;  u[I] = 0 if masking
// Weight decay λ·w is the optimiser's, and the same on every worker; its momentum is kept here, apart:
//   m' = μm + λw;  out += μm         or, Nesterov's:   out += μm'
// With everything kept, no masking and no clipping it is SGD with momentum and decay, as PyTorch has it.
// Lin et al. (ICLR 2018).
//
// Their code finds the threshold in a sample, which we do too, and where more than k reach it keeps the
// lowest indices; we keep the largest. They clip by the norm of the whole gradient, ‖g‖ <= clip·N^(-1/2),
// which is not known when its first bucket goes; ours is the norm of each bucket. The warm-up is the paper's:
// kept fractions of 1/4, 1/16 and so on as long as they are above `ratio`, for equally many steps each; their
// code's comes down more slowly. What is left dense has the same momentum, of the mean over workers, as in
// their code. Clipping comes after that mean there, too: to the norm that the mean of clipped gradients has
// at most.
//
// With momentum or clipping the result estimates something else than the gradients' mean: it is `delayed`
// without either only.
// State: u and v, float32 [n]; with momentum and decay, m too. Each worker contributes 4 + 20 + 4k bytes and
// the indices' at most; 20 + 4k and the indices' where the selection is exact.
class Dgc : public Sparsifier {
 public:
  Dgc(const DgcOptions& options, const SynchroniserContext& context)
      : Sparsifier(options.indices),
        options_(options),
        seed_(context.seed),
        weights_(context.weights),
        weight_decay_(context.weight_decay),
        warm_up_(options.ratio, options.warm_up_steps),
        momentum_(context.parameters),
        held_back_(context.parameters) {
    if (options.momentum > 0 && weight_decay_ > 0) decay_momentum_.emplace(context.parameters);
  }

  Promises promises() const override {
    Promises promises = Sparsifier::promises();
    if (options_.momentum > 0 || options_.clip > 0) promises.estimate = Estimate::biased;
    promises.applies_momentum = true;
    return promises;
  }

  void finish_dense(Bucket& bucket, int world_size) override {
    if (options_.clip > 0) clip(bucket.gradient, world_size);
    accumulate_momentum(bucket);
    momentum_.stage(bucket, momentum_in_hand_);
    add_decay_momentum(bucket);
  }

  void finish_step(bool applied) override {
    for (Residual* state : {&momentum_, &held_back_}) applied ? state->commit() : state->discard();
    if (decay_momentum_) applied ? decay_momentum_->commit() : decay_momentum_->discard();
  }

  void add_held_back(Bucket& bucket) const override { held_back_.add_to(bucket); }

  void adopt_masks(const std::vector<torch::Tensor>& kept) override {
    momentum_.drop_pruned(kept);
    held_back_.drop_pruned(kept);
    if (decay_momentum_) decay_momentum_->drop_pruned(kept);
  }

  void save(TensorMap& state, const std::string& prefix) const override {
    momentum_.save(state, prefix + "momentum.");
    held_back_.save(state, prefix);
    if (decay_momentum_) decay_momentum_->save(state, prefix + "decay_momentum.");
  }

  void load(const TensorMap& state, const std::string& prefix) override {
    momentum_.load(state, prefix + "momentum.");
    held_back_.load(state, prefix);
    if (decay_momentum_) decay_momentum_->load(state, prefix + "decay_momentum.");
  }

 protected:
  void accumulate(Bucket& bucket) override {
    if (options_.clip > 0) clip(bucket.gradient, world_size());
    accumulate_momentum(bucket);
    held_back_.add_to(bucket);
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

  void hold_back(const Bucket& bucket, std::span<const std::uint32_t> sent) override {
    if (options_.masking) {
      const std::span<float> momentum = floats(momentum_in_hand_);
      for (const std::uint32_t index : sent) momentum[index] = 0;
    }
    momentum_.stage(bucket, momentum_in_hand_);
    held_back_.stage(bucket, bucket.gradient);
  }

  void finish(Bucket& bucket) override { add_decay_momentum(bucket); }

  std::int64_t count_for(const Bucket& bucket) const override {
    return count_at(warm_up_.ratio(step()), bucket);
  }
  std::int64_t settled_count_for(const Bucket& bucket) const override {
    return count_at(warm_up_.settled_ratio(), bucket);
  }
  bool chooses_a_fixed_count() const override {
    return options_.sample == 1 && !warm_up_.changes_the_ratio();
  }

 private:
  // bucket.gradient becomes the step that momentum makes of it, momentum_in_hand_ the momentum after it.
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

  // Adds what earlier steps' decay carries over; the optimiser adds this step's.
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

  // By a sum in order, which the number of threads cannot change.
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
  Residual momentum_;                       // u
  Residual held_back_;                      // v
  std::optional<Residual> decay_momentum_;  // m: staged, committed and saved as a residual is
  torch::Tensor momentum_in_hand_;          // of the bucket in hand
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
