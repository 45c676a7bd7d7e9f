#include "common/support/options.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/bucket_weights.hh"
#include "trainer/synchronisers/kept_entries.hh"
#include "trainer/synchronisers/residual.hh"
#include "trainer/synchronisers/sparse/kept_count.hh"
#include "trainer/synchronisers/sparse/sparsifier.hh"
#include "trainer/synchronisers/sparse/top_k.hh"

namespace thinpipe::trainer {
namespace {

struct GmcOptions {
  double ratio = 0.01;
  double momentum = 0.9;
  std::string indices = "u32";

  void visit(auto& field) {
    field("ratio", ratio, Rule{.effect = "kept fraction of a bucket's entries", .above = 0, .at_most = 1});
    field("momentum", momentum, Rule{.effect = "momentum coefficient", .at_least = 0, .below = 1});
    field("indices", indices,
          Rule{.effect = "how indices are encoded, as in topk", .one_of = Sparsifier::index_options()});
  }
};

// Global Momentum Compression: the momentum is the last movement of the weights, the same on every worker,
// instead of a momentum per worker. For each bucket of n entries, with learning rates η:
//   acc = g - (μ/η_{t-1})·(w_t - w_{t-1}) + e
//   I = the k largest |acc|, k = max(1, floor(ratio·n));  send acc[I];  e' = acc off I, 0 on I
// Each worker adds the whole movement, so the mean over workers contains it once. Zhao et al., Global
// Momentum Compression for Sparse Communication in Distributed SGD (2019).
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
// State: e and w_{t-1}, float32 [n]; η_{t-1}. Each worker contributes 20 + 4k bytes and the indices to an
// all-gather.
class Gmc : public Sparsifier {
 public:
  Gmc(const GmcOptions& options, const SynchroniserContext& context)
      : Sparsifier(options.indices),
        options_(options),
        weights_(context.weights),
        kept_(context.kept),
        residual_(context.parameters),
        last_weights_(context.parameters) {}

  MethodProperties properties() const override {
    MethodProperties properties = Sparsifier::properties();
    if (options_.momentum > 0) properties.estimate = Estimate::biased;
    properties.applies_momentum = true;
    return properties;
  }

  void set_learning_rate(double learning_rate) override { learning_rate_ = learning_rate; }

  void finish_dense(Bucket& bucket, int /*world_size*/) override { subtract_movement(bucket); }

  void finish_step(bool applied) override {
    for (StagedState* state : std::array<StagedState*, 2>{&residual_, &last_weights_})
      applied ? state->commit() : state->discard();
    if (applied) last_learning_rate_ = learning_rate_;
  }

  void add_residual(Bucket& bucket) const override { residual_.add_to(bucket); }

  void adopt_masks(const std::vector<torch::Tensor>& kept) override {
    residual_.drop_pruned(kept);
    kept_.adopt(kept);
  }

  void save(TensorMap& state, const std::string& prefix) const override {
    residual_.save(state, prefix);
    last_weights_.save(state, prefix + "last_weights.");
    state[prefix + "last_learning_rate"] = torch::tensor({last_learning_rate_}, torch::kDouble);
  }

  void load(const TensorMap& state, const std::string& prefix) override {
    residual_.load(state, prefix);
    last_weights_.load(state, prefix + "last_weights.");
    last_learning_rate_ =
        expect_tensor(state, prefix + "last_learning_rate", torch::empty({1}, torch::kDouble), "checkpoint")
            .item<double>();
  }

 protected:
  void accumulate(Bucket& bucket) override {
    subtract_movement(bucket);
    residual_.add_to(bucket);
  }

  std::vector<std::uint32_t> choose(const Bucket& bucket) override {
    return top_k_indices(floats(bucket.gradient), static_cast<std::size_t>(count_for(bucket)));
  }

  void store_residual(const Bucket& bucket, std::span<const std::uint32_t> /*sent*/) override {
    residual_.stage(bucket, bucket.gradient);
  }

  std::int64_t count_for(const Bucket& bucket) const override {
    return kept_count(options_.ratio, bucket.size);
  }

 private:
  void subtract_movement(Bucket& bucket) {
    const torch::Tensor weights = bucket_weights(weights_, bucket, "gmc");
    if (last_learning_rate_ > 0) {
      const torch::Tensor movement = torch::empty({bucket.size});
      for (const Slice& slice : bucket.slices) {
        torch::Tensor moved = movement.narrow(0, slice.offset, slice.size);
        torch::sub_out(moved, weights.narrow(0, slice.offset, slice.size), last_weights_.of(slice.parameter));
      }
      kept_.clear_pruned(bucket, movement);
      bucket.gradient.sub_(movement, options_.momentum / last_learning_rate_);
    }
    last_weights_.stage(bucket, weights);
  }

  GmcOptions options_;
  std::vector<torch::Tensor> weights_;
  KeptEntries kept_;
  Residual residual_;
  StagedState last_weights_;  // w_{t-1}
  double learning_rate_ = 0;
  double last_learning_rate_ = 0;  // of the last applied step; 0 before the first
};

THINPIPE_REGISTER(Synchroniser){
    "gmc", "the largest entries of gradient plus global momentum with error feedback, over all-gather",
    describe_options<GmcOptions>(), [](JsonObject& options, const SynchroniserContext& context) {
      return std::make_unique<Gmc>(read_options<GmcOptions>(options), context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
