// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "common/support/options.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/adjustable_ratio.hh"
#include "trainer/synchronisers/residual.hh"
#include "trainer/synchronisers/sparse/kept_count.hh"
#include "trainer/synchronisers/sparse/top_k.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {
namespace {

struct ChunkedTopKOptions {
  double ratio = 0.01;
  std::int64_t chunk_size = 64;

  void visit(auto& field) {
    field("ratio", ratio, Rule{.effect = "kept fraction of a bucket's chunks", .above = 0, .at_most = 1});
    field("chunk_size", chunk_size,
          Rule{.effect = "consecutive entries that are sent or kept together", .at_least = 1});
  }
};

// Sparsification that an all-reduce can carry, because all workers send the same entries. Each bucket is cut
// into C = ⌈n/q⌉ chunks of q = chunk_size consecutive entries:
//   acc = g + e;  s_c = Σ_w ‖acc_w[c]‖², by all-reduce
//   M = the k chunks of largest s, k = max(1, floor(ratio·C)), lower ones first of equals
//   out = Σ_w acc_w[M]/N, by all-reduce of these packed;  e' = acc off M, 0 on M
// It takes two rounds, and chunks are a coarser choice than topk's entries, but the traffic does not grow
// with the number of workers. It is based on the shared random blocks of Vogels et al., PowerSGD (NeurIPS
// 2019), chosen instead of drawn. The last chunk may be short and is padded with zeros when sent, so that the
// number of bytes is fixed.
// State: e, float32 [n]. Payload 4C + 4kq bytes, q = min(chunk_size, n).
class ChunkedTopK : public Synchroniser, public AdjustableRatio {
 public:
  ChunkedTopK(const ChunkedTopKOptions& options, const SynchroniserContext& context)
      : options_(options), residual_(context.parameters) {}

  MethodProperties properties() const override {
    return {.estimate = Estimate::error_feedback, .all_reduce_compatible = true};
  }

  double ratio() const override { return options_.ratio; }
  void set_ratio(double ratio) override { options_.ratio = ratio; }

  bool leaves_dense(const ParameterInfo& parameter) const override { return parameter.dimensions <= 1; }

  void finish_step(bool applied) override { applied ? residual_.commit() : residual_.discard(); }
  void add_residual(Bucket& bucket) const override { residual_.add_to(bucket); }
  void adopt_masks(const std::vector<torch::Tensor>& kept) override { residual_.drop_pruned(kept); }
  void save(TensorMap& state, const std::string& prefix) const override { residual_.save(state, prefix); }
  void load(const TensorMap& state, const std::string& prefix) override { residual_.load(state, prefix); }

  void synchronise(Bucket& bucket, Collective& network) override {
    residual_.add_to(bucket);
    const Chunks chunks = chunks_of(bucket);
    const std::span<float> values = floats(bucket.gradient);
    const torch::Tensor norms = torch::empty({chunks.count});
    const std::span<float> norm_of = floats(norms);
    for (std::size_t c = 0; c < norm_of.size(); ++c) norm_of[c] = squared_norm(chunks.of(values, c));
    network.all_reduce(norms, Reduction::sum);

    const auto chosen = top_k_indices(norm_of, static_cast<std::size_t>(chunks.kept));
    const torch::Tensor packed = torch::zeros({chunks.kept * chunks.size});
    const std::span<float> sent = floats(packed);
    const auto workers = static_cast<float>(network.world_size());
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const std::span<float> chunk = chunks.of(values, chosen[i]);
      std::ranges::transform(chunk, chunks.of(sent, i).begin(),
                             [workers](float value) { return value / workers; });
      std::ranges::fill(chunk, 0.0F);
    }
    residual_.stage(bucket, bucket.gradient);

    network.all_reduce(packed, Reduction::sum);
    std::ranges::fill(values, 0.0F);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const std::span<float> chunk = chunks.of(values, chosen[i]);
      std::ranges::copy(chunks.of(sent, i).first(chunk.size()), chunk.begin());
    }
  }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    const Chunks chunks = chunks_of(bucket);
    return all_reduce_traffic(4 * chunks.count, world_size) +
           all_reduce_traffic(4 * chunks.kept * chunks.size, world_size);
  }

 private:
  struct Chunks {
    std::int64_t size = 0;  // entries; the last chunk may have fewer
    std::int64_t count = 0;
    std::int64_t kept = 0;

    std::span<float> of(std::span<float> values, std::size_t chunk) const {
      const std::size_t begin = chunk * static_cast<std::size_t>(size);
      return values.subspan(begin, std::min(static_cast<std::size_t>(size), values.size() - begin));
    }
  };

  Chunks chunks_of(const Bucket& bucket) const {
    if (bucket.size == 0) return {};
    const std::int64_t size = std::min(options_.chunk_size, bucket.size);
    const std::int64_t count = (bucket.size + size - 1) / size;
    return {.size = size, .count = count, .kept = kept_count(options_.ratio, count)};
  }

  // Returns NaN, which is chosen first, if an entry is not finite. Finite entries never give NaN, although a
  // float may not hold their squares.
  static float squared_norm(std::span<const float> chunk) {
    double squares = 0;
    for (const float value : chunk) squares += static_cast<double>(value) * value;
    if (!std::isfinite(squares)) return std::numeric_limits<float>::quiet_NaN();
    return static_cast<float>(std::min<double>(squares, std::numeric_limits<float>::max()));
  }

  ChunkedTopKOptions options_;
  Residual residual_;
};

THINPIPE_REGISTER(Synchroniser){
    "topk_chunked", "the chunks of largest norm over all workers with error feedback, over all-reduce",
    describe_options<ChunkedTopKOptions>(), [](JsonObject& options, const SynchroniserContext& context) {
      return std::make_unique<ChunkedTopK>(read_options<ChunkedTopKOptions>(options), context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
