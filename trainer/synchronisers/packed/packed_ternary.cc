// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <vector>

#include "trainer/synchronisers/packed/packed_exchange.hh"
#include "trainer/synchronisers/quantised/bucket_draws.hh"
#include "trainer/synchronisers/quantised/code_exchange.hh"
#include "trainer/synchronisers/quantised/layer_parts.hh"
#include "trainer/synchronisers/quantised/ternary.hh"
#include "trainer/synchronisers/residual.hh"

namespace thinpipe::trainer {
namespace {

// Returns this worker's s_l for each layer l.
torch::Tensor scales_of(std::span<const float> values, const PackedLayout& layout, double clip) {
  const torch::Tensor scales = torch::empty({std::ssize(layout.layer_ends)});
  std::size_t begin = 0;
  for (std::size_t l = 0; l < layout.layer_ends.size(); ++l) {
    floats(scales)[l] = clipped_ternary_scale(values.subspan(begin, layout.layer_ends[l] - begin), clip);
    begin = layout.layer_ends[l];
  }
  return scales;
}

// For the packed entries q of each layer l:
//   s_l = max over workers of min(max|q|, clip·σ), σ the standard deviation of the worker's layer
//   c_i in {-1, 0, 1};  out_i = s_l·(Σ_w c_i)/N
// The maxima take an all-reduce of their own, of L floats. N <= 127, because sums of codes must fit in int8.
// One additional code, the last, is the flag of an escape. Codes are drawn and sums expanded piece by chunk
// while other chunks are in flight.
class TernaryExchange : public PackedExchange {
 public:
  // clip: 0 for none.
  explicit TernaryExchange(double clip) : clip_(clip) {}

  bool packs_whole() const override { return true; }
  std::optional<int> max_workers() const override { return max_workers_of_code_sums(1); }

  bool exchange(Bucket& bucket, const PackedLayout& layout, Collective& network) override {
    const torch::Tensor packed = torch::empty({layout.entries.packed_size()});
    const std::span<float> values = floats(packed);
    const bool escaped = layout.entries.gather(floats(bucket.gradient), 1.0F, values) > 0;

    const torch::Tensor scales = scales_of(values, layout, clip_);
    const std::span<const float> scale = floats(scales);
    network.all_reduce(scales, Reduction::max);

    const torch::Tensor codes = torch::empty({layout.entries.packed_size() + 1}, torch::kChar);
    const std::span<std::int8_t> code = elements<std::int8_t>(codes);
    begin_encoding(values.size());
    const auto produce = [&](std::size_t begin, std::size_t end) {
      const std::size_t last = std::min(end, values.size());
      encode({.bucket = bucket,
              .rank = network.rank(),
              .layer_ends = layout.layer_ends,
              .scales = scale,
              .begin = begin,
              .values = values.subspan(begin, last - begin)},
             code.subspan(begin, last - begin));
      if (end == code.size()) code.back() = escaped ? 1 : 0;
    };
    const auto consume = [&](std::size_t begin, std::size_t end) {
      const auto expand = [&](std::size_t l, std::size_t from, std::size_t size) {
        const float unit = scale[l] / static_cast<float>(network.world_size());
        expand_ternary(code.subspan(from, size), unit, values.subspan(from, size));
      };
      for_each_layer_part(layout.layer_ends, begin, end, expand);
    };
    network.all_reduce_quantised(codes, 1, {.produce = produce, .consume = consume});
    if (code.back() != 0) return false;

    store_residual(bucket, layout);
    layout.entries.scatter(values, floats(bucket.gradient));
    return true;
  }

  ExpectedTraffic traffic(const PackedLayout& layout, int world_size) const override {
    return all_reduce_quantised_traffic(layout.entries.packed_size() + 1, 1, world_size) +
           all_reduce_traffic(4 * std::ssize(layout.layer_ends), world_size);
  }

 protected:
  // A range of the packed values.
  struct Chunk {
    const Bucket& bucket;
    int rank = 0;
    std::span<const std::size_t> layer_ends;
    std::span<const float> scales;  // per layer
    std::size_t begin = 0;          // among the packed values; a multiple of CodeChunks::granule
    std::span<const float> values;
  };

  // Called before the chunks of `size` values.
  virtual void begin_encoding(std::size_t /*size*/) {}

  // Writes the code of every value.
  virtual void encode(const Chunk& chunk, std::span<std::int8_t> codes) = 0;

  // Stores the rounding errors of the codes as the residual. After an escape, clear_residual() is called
  // instead.
  virtual void store_residual(const Bucket& /*bucket*/, const PackedLayout& /*layout*/) {}

  // Calls layer(scale, begin, size) for each layer's part of the piece, with `begin` relative to the chunk.
  static void for_each_layer(const Chunk& chunk, const auto& layer) {
    for_each_layer_part(chunk.layer_ends, chunk.begin, chunk.begin + chunk.values.size(),
                        [&](std::size_t l, std::size_t begin, std::size_t size) {
                          layer(chunk.scales[l], begin - chunk.begin, size);
                        });
  }

  double clip() const { return clip_; }

 private:
  double clip_;
};

// TernGrad's codes: c_i = sign(q_i)·Bernoulli(|q_i| / s_l), and sign(q_i) beyond s_l. Unbiased for the masked
// mean without clipping; no residual, as in the paper.
class StochasticTernary : public TernaryExchange {
 public:
  StochasticTernary(double clip, std::uint64_t seed) : TernaryExchange(clip), draws_(seed) {}

  Estimate estimate() const override { return clip() > 0 ? Estimate::biased : Estimate::unbiased; }

  void begin_step(std::uint64_t step) override { draws_.begin_step(step); }

 protected:
  void encode(const Chunk& chunk, std::span<std::int8_t> codes) override {
    uniform_.resize(chunk.values.size());
    draws_.fill_uniform_from(chunk.bucket, chunk.rank, chunk.begin, uniform_);
    for_each_layer(chunk, [&](float scale, std::size_t begin, std::size_t size) {
      draw_ternary(chunk.values.subspan(begin, size), scale, std::span(uniform_).subspan(begin, size),
                   codes.subspan(begin, size));
    });
  }

 private:
  BucketDraws draws_;
  std::vector<float> uniform_;  // for one chunk
};

// An extension to the paper: the rounding error of the codes is added to the next gradient.
//   q = g + e;  c_i = the nearest of {-1, 0, 1} to q_i / s_l;  e' = q - s_l·c
// Rounds to nearest, because with feedback a draw need not be unbiased, and its error can be as large as s.
// Then |e| <= s <= max|g| + max|e| would bound nothing. With rounding, |e'| <= s/2, so |e| never exceeds the
// largest |g| of any worker and step. The sum of all results then stays within that bound of the sum of all
// means. A full exchange also sends e. State: e, float32 [n].
class FeedbackTernary : public TernaryExchange {
 public:
  explicit FeedbackTernary(const std::vector<ParameterInfo>& parameters)
      : TernaryExchange(0), residual_(parameters) {}

  Estimate estimate() const override { return Estimate::error_feedback; }

  void finish_step(bool applied) override { applied ? residual_.commit() : residual_.discard(); }

  void add_residual(Bucket& bucket) const override { residual_.add_to(bucket); }

  void clear_residual(const Bucket& bucket) override { residual_.stage(bucket, torch::zeros({bucket.size})); }

  void adopt_masks(const std::vector<torch::Tensor>& kept) override { residual_.drop_pruned(kept); }
  void save(TensorMap& state, const std::string& prefix) const override { residual_.save(state, prefix); }
  void load(const TensorMap& state, const std::string& prefix) override { residual_.load(state, prefix); }

 protected:
  void begin_encoding(std::size_t size) override { left_.resize(size); }

  void encode(const Chunk& chunk, std::span<std::int8_t> codes) override {
    const std::span<float> left = std::span(left_).subspan(chunk.begin, chunk.values.size());
    for_each_layer(chunk, [&](float scale, std::size_t begin, std::size_t size) {
      round_ternary(chunk.values.subspan(begin, size), scale, codes.subspan(begin, size));
      for (std::size_t i = begin; i < begin + size; ++i) {
        left[i] = chunk.values[i] - scale * static_cast<float>(codes[i]);
      }
    });
  }

  void store_residual(const Bucket& bucket, const PackedLayout& layout) override {
    const torch::Tensor remainder = torch::empty({bucket.size});
    layout.entries.scatter(left_, floats(remainder));
    residual_.stage(bucket, remainder);
  }

 private:
  Residual residual_;
  std::vector<float> left_;  // per packed value of the current bucket: its remainder
};

}  // namespace

std::unique_ptr<PackedExchange> make_ternary_exchange(double clip, std::uint64_t seed) {
  return std::make_unique<StochasticTernary>(clip, seed);
}

std::unique_ptr<PackedExchange> make_ternary_feedback_exchange(const std::vector<ParameterInfo>& parameters) {
  return std::make_unique<FeedbackTernary>(parameters);
}

}  // namespace thinpipe::trainer
