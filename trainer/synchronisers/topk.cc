#include <cmath>

#include "harness/support/options.hh"
#include "trainer/synchronisers/residual.hh"
#include "trainer/synchronisers/sparse_message.hh"
#include "trainer/synchronisers/synchroniser.hh"
#include "trainer/synchronisers/top_k.hh"
#include "trainer/tensor_span.hh"

namespace thinpipe::trainer {
namespace {

struct TopKOptions {
  double ratio = 0.01;

  void visit(auto& field) {
    field(
        "ratio", ratio,
        Rule{.effect = "kept fraction of each bucket's entries", .above = 0, .at_most = 1, .required = true});
  }
};

constexpr std::uint8_t kWireMethod = 1;

// Sparsification with error feedback (Aji & Heafield, 2017), selected per bucket:
//   acc = g + e;  I = the k largest |acc|, k = max(1, floor(ratio·n));  send acc[I];  e' = acc off I, 0 on I
//   out = (1/N) Σ_w scatter(I_w, v_w), ranks ascending, so that every worker adds in the same order
// Biases and normalisation layers go to the dense side bucket, as in the reference codes of its successors.
// State: e, float32 [n]. Each worker contributes 20 + 8k bytes to an all-gather.
class TopK : public Synchroniser {
 public:
  TopK(double ratio, const SynchroniserContext& context) : ratio_(ratio), residual_(context.parameters) {}

  Promises promises() const override { return {.estimate = Estimate::delayed}; }

  bool leaves_dense(const ParameterInfo& parameter) const override { return parameter.dimensions <= 1; }

  void begin_step(std::uint64_t step) override { step_ = step; }

  void synchronise(Bucket& bucket, Collective& network) override {
    const SparseHeader header = header_for(bucket);
    residual_.add_to(bucket);
    const std::span<float> values = floats(bucket.gradient);
    const auto indices = top_k_indices(values, header.count);
    const torch::Tensor message = encode_sparse(header, indices, values);
    for (const std::uint32_t index : indices) values[index] = 0;
    residual_.stage(bucket, bucket.gradient);

    const std::vector<std::int64_t> counts(static_cast<std::size_t>(network.world_size()), message.numel());
    const torch::Tensor messages = network.all_gather_v(message, counts);

    bucket.gradient.zero_();
    for (int rank = 0; rank < network.world_size(); ++rank) {
      add_sparse(messages.narrow(0, rank * message.numel(), message.numel()), header, values);
    }
    bucket.gradient.div_(network.world_size());
  }

  void finish_step(bool applied) override { applied ? residual_.commit() : residual_.discard(); }

  void add_held_back(Bucket& bucket) const override { residual_.add_to(bucket); }

  void adopt_masks(const std::vector<torch::Tensor>& kept) override { residual_.drop_pruned(kept); }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    return all_gather_traffic(sparse_message_bytes(header_for(bucket).count), world_size);
  }

  void save(TensorMap& state, const std::string& prefix) const override { residual_.save(state, prefix); }
  void load(const TensorMap& state, const std::string& prefix) override { residual_.load(state, prefix); }

 private:
  SparseHeader header_for(const Bucket& bucket) const {
    const auto kept = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(std::floor(ratio_ * static_cast<double>(bucket.size))));
    return {.method = kWireMethod,
            .bucket = static_cast<std::uint32_t>(bucket.index),
            .step = static_cast<std::uint32_t>(step_),
            .n = static_cast<std::uint32_t>(bucket.size),
            .count = static_cast<std::uint32_t>(std::min(kept, bucket.size))};
  }

  double ratio_;
  Residual residual_;
  std::uint64_t step_ = 0;
};

const Registration<Synchroniser, const SynchroniserContext&> topk_registration{
    "topk", "the largest entries of each bucket with error feedback, over all-gather",
    describe_options<TopKOptions>(), [](JsonObject& options, const SynchroniserContext& context) {
      return std::make_unique<TopK>(read_options<TopKOptions>(options).ratio, context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
