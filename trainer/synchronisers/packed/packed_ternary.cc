#include <limits>

#include "trainer/synchronisers/packed/packed_exchange.hh"
#include "trainer/synchronisers/quantised/bucket_draws.hh"
#include "trainer/synchronisers/quantised/ternary.hh"
#include "trainer/synchronisers/residual.hh"

namespace thinpipe::trainer {
namespace {

// Calls layer(l, begin, size) for each layer's part of the packed entries.
void for_each_layer(const PackedLayout& layout, const auto& layer) {
  std::size_t begin = 0;
  for (std::size_t l = 0; l < layout.layer_ends.size(); ++l) {
    layer(l, begin, layout.layer_ends[l] - begin);
    begin = layout.layer_ends[l];
  }
}

// Of the packed entries q, per layer l:
//   s_l = max over workers of max|q|;  c_i in {-1, 0, 1};  out_i = s_l·(Σ_w c_i)/N
// The maxima take an all-reduce of their own, L floats. N <= 127, as sums of codes are within int8; one more
// code is the flag of an escape.
class TernaryExchange : public PackedExchange {
 public:
  bool packs_whole() const override { return true; }

  bool exchange(Bucket& bucket, const PackedLayout& layout, Collective& network) override {
    if (network.world_size() > std::numeric_limits<std::int8_t>::max()) {
      throw Error("pactrain sums ternary values in int8 and can serve at most 127 workers");
    }
    const torch::Tensor packed = torch::empty({layout.entries.packed_size()});
    const std::span<float> values = floats(packed);
    const bool escaped = layout.entries.gather(floats(bucket.gradient), 1.0F, values) > 0;

    const torch::Tensor scales = torch::empty({std::ssize(layout.layer_ends)});
    const std::span<float> scale = floats(scales);
    for_each_layer(layout, [&](std::size_t l, std::size_t begin, std::size_t size) {
      scale[l] = ternary_scale(values.subspan(begin, size));
    });
    network.all_reduce(scales, Reduction::max);

    const torch::Tensor codes = torch::empty({layout.entries.packed_size() + 1}, torch::kChar);
    const std::span<std::int8_t> code = elements<std::int8_t>(codes);
    encode(bucket, layout, scale, values, network.rank(), code.first(values.size()));
    hold_back(bucket, layout, scale, values, code.first(values.size()));
    code.back() = escaped ? 1 : 0;
    network.all_reduce_codes(codes, 1);
    if (code.back() != 0) return false;

    for_each_layer(layout, [&](std::size_t l, std::size_t begin, std::size_t size) {
      const float unit = scale[l] / static_cast<float>(network.world_size());
      expand_ternary(code.subspan(begin, size), unit, values.subspan(begin, size));
    });
    layout.entries.scatter(values, floats(bucket.gradient));
    return true;
  }

  ExpectedTraffic traffic(const PackedLayout& layout, int world_size) const override {
    return code_sum_traffic(layout.entries.packed_size() + 1, 1, world_size) +
           all_reduce_traffic(4 * std::ssize(layout.layer_ends), world_size);
  }

 protected:
  // Writes the code of every value.
  virtual void encode(const Bucket& bucket, const PackedLayout& layout, std::span<const float> scales,
                      std::span<const float> values, int rank, std::span<std::int8_t> codes) const = 0;

  // What the codes do not say of the values: before they are summed, and to no effect where an entry escapes,
  // as then hold_nothing_back() follows.
  virtual void hold_back(const Bucket& /*bucket*/, const PackedLayout& /*layout*/,
                         std::span<const float> /*scales*/, std::span<const float> /*values*/,
                         std::span<const std::int8_t> /*codes*/) {}
};

// TernGrad's codes: c_i = sign(q_i)·Bernoulli(|q_i| / s_l). Unbiased for the masked mean; no residual, as in
// the paper.
class StochasticTernary : public TernaryExchange {
 public:
  explicit StochasticTernary(std::uint64_t seed) : draws_(seed) {}

  Estimate estimate() const override { return Estimate::unbiased; }

  void begin_step(std::uint64_t step) override { draws_.begin_step(step); }

 protected:
  void encode(const Bucket& bucket, const PackedLayout& layout, std::span<const float> scales,
              std::span<const float> values, int rank, std::span<std::int8_t> codes) const override {
    const torch::Tensor random = draws_.uniform(bucket, rank, std::ssize(values));
    const std::span<const float> uniform = floats(random);
    for_each_layer(layout, [&](std::size_t l, std::size_t begin, std::size_t size) {
      draw_ternary(values.subspan(begin, size), scales[l], uniform.subspan(begin, size),
                   codes.subspan(begin, size));
    });
  }

 private:
  BucketDraws draws_;
};

// An extension to the paper: what the codes leave unsaid is added to the next gradient.
//   q = g + e;  c_i = the nearest of {-1, 0, 1} to q_i / s_l;  e' = q - s_l·c
// Rounds to nearest, because with feedback no draw need be unbiased, and a draw's error can be as large as s:
// then |e| <= s <= max|g| + max|e| bounds nothing. Rounded, |e'| <= s/2, so |e| never exceeds the largest |g|
// of any worker and step, and the sum of all results stays within that of the sum of all means. A full
// exchange takes e along. State: e, float32 [n].
class FeedbackTernary : public TernaryExchange {
 public:
  explicit FeedbackTernary(const std::vector<ParameterInfo>& parameters) : residual_(parameters) {}

  Estimate estimate() const override { return Estimate::delayed; }

  void finish_step(bool applied) override { applied ? residual_.commit() : residual_.discard(); }

  void add_held_back(Bucket& bucket) const override { residual_.add_to(bucket); }

  void hold_nothing_back(const Bucket& bucket) override {
    residual_.stage(bucket, torch::zeros({bucket.size}));
  }

  void adopt_masks(const std::vector<torch::Tensor>& kept) override { residual_.drop_pruned(kept); }
  void save(TensorMap& state, const std::string& prefix) const override { residual_.save(state, prefix); }
  void load(const TensorMap& state, const std::string& prefix) override { residual_.load(state, prefix); }

 protected:
  void encode(const Bucket& /*bucket*/, const PackedLayout& layout, std::span<const float> scales,
              std::span<const float> values, int /*rank*/, std::span<std::int8_t> codes) const override {
    for_each_layer(layout, [&](std::size_t l, std::size_t begin, std::size_t size) {
      round_ternary(values.subspan(begin, size), scales[l], codes.subspan(begin, size));
    });
  }

  void hold_back(const Bucket& bucket, const PackedLayout& layout, std::span<const float> scales,
                 std::span<const float> values, std::span<const std::int8_t> codes) override {
    std::vector<float> left(values.size());
    for_each_layer(layout, [&](std::size_t l, std::size_t begin, std::size_t size) {
      for (std::size_t i = begin; i < begin + size; ++i) {
        left[i] = values[i] - scales[l] * static_cast<float>(codes[i]);
      }
    });
    const torch::Tensor remainder = torch::empty({bucket.size});
    layout.entries.scatter(left, floats(remainder));
    residual_.stage(bucket, remainder);
  }

 private:
  Residual residual_;
};

}  // namespace

std::unique_ptr<PackedExchange> make_ternary_exchange(std::uint64_t seed) {
  return std::make_unique<StochasticTernary>(seed);
}

std::unique_ptr<PackedExchange> make_ternary_feedback_exchange(const std::vector<ParameterInfo>& parameters) {
  return std::make_unique<FeedbackTernary>(parameters);
}

}  // namespace thinpipe::trainer
