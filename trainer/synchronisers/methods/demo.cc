// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "common/support/options.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/kept_entries.hh"
#include "trainer/synchronisers/messages.hh"
#include "trainer/synchronisers/residual.hh"
#include "trainer/synchronisers/sparse/top_k.hh"
#include "trainer/synchronisers/synchroniser.hh"
#include "trainer/synchronisers/transforms/block_transform.hh"
#include "trainer/synchronisers/transforms/sent_coefficients.hh"

namespace thinpipe::trainer {
namespace {

struct DemoOptions {
  double beta = 0.999;
  std::int64_t chunk = 64;
  std::int64_t k = 32;

  void visit(auto& field) {
    field("beta", beta,
          Rule{.effect = "fraction of the momentum kept from step to step", .at_least = 0, .at_most = 1});
    field("chunk", chunk,
          Rule{.effect = "matrices are transformed in squares with this many rows and columns, vectors in "
                         "pieces of this many entries",
               .at_least = 1,
               .at_most = 256});  // so that an index within a chunk has 16 bits
    field("k", k, Rule{.effect = "coefficients that each chunk sends", .at_least = 1});
  }
};

// Decoupled momentum: each worker has its own momentum and sends its strongest frequencies. For each chunk of
// m:
//   m = β·m + η·g;  c = DCT(m);  I = the k largest |c|;  m' = m - IDCT(c on I)
//   C_f = the mean of c_f over the workers whose I has f, 0 if there are none;  out = sign(IDCT(C))
// The optimiser multiplies the sign by η, which needs a value of its own. Chunks are squares of a matrix,
// with the first dimension as its rows, or pieces of a vector. At the edges, chunks and transforms shrink to
// the remaining size; the published code uses a divisor of each size, and other codes pad. Peng, Quesnelle,
// Kingma, DeMo: Decoupled Momentum Optimization (2024).
//
// Pruned entries stay zero in out. They are also cleared in m', where the inverse transform had moved them.
// Non-finite means become NaN, because a sign would hide them. LibTorch computes the products: they have the
// same bits on workers with the same CPU, number of threads and build.
//
// State: m, float32 [n]. Each worker contributes 6·Σ min(k, entries of the chunk) bytes to an all-gather.
class Demo : public Synchroniser {
 public:
  Demo(const DemoOptions& options, const SynchroniserContext& context)
      : options_(options),
        parameters_(context.parameters),
        momentum_(context.parameters),
        kept_(context.kept) {}

  MethodProperties properties() const override {
    return {.estimate = Estimate::biased, .applies_momentum = true};
  }

  void set_learning_rate(double learning_rate) override { learning_rate_ = learning_rate; }
  bool uses_learning_rate() const override { return true; }

  void adopt_masks(const std::vector<torch::Tensor>& kept) override {
    momentum_.drop_pruned(kept);
    kept_.adopt(kept);
  }

  void synchronise(Bucket& bucket, Collective& network) override {
    const torch::Tensor momentum = bucket.gradient.mul(learning_rate_);
    for (const Slice& slice : bucket.slices) {
      momentum.narrow(0, slice.offset, slice.size).add_(momentum_.of(slice.parameter), options_.beta);
    }
    const SentCoefficients own = choose(bucket, momentum);
    std::vector<SentCoefficients> all;
    for (const torch::Tensor& message : gather_equal(message_of(to_bytes(own)), network))
      all.push_back(from_bytes(elements<std::uint8_t>(message)));

    decode(bucket, {&own, 1}, bucket.gradient);
    momentum.sub_(bucket.gradient);
    kept_.clear_pruned(bucket, momentum);
    momentum_.stage(bucket, momentum);

    decode(bucket, all, bucket.gradient);
    for (float& value : floats(bucket.gradient)) value = visible_sign(value);
    kept_.clear_pruned(bucket, bucket.gradient);
  }

  void finish_step(bool applied) override { applied ? momentum_.commit() : momentum_.discard(); }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    std::int64_t coefficients = 0;
    for (const Slice& slice : bucket.slices) {
      for (const BlockGrid& grid : grids_of(slice)) coefficients += grid.blocks() * sent_of_chunk(grid);
    }
    return all_gather_traffic(bytes_per_sent_coefficient * coefficients, world_size);
  }

  void save(TensorMap& state, const std::string& prefix) const override {
    momentum_.save(state, prefix + "momentum.");
  }
  void load(const TensorMap& state, const std::string& prefix) override {
    momentum_.load(state, prefix + "momentum.");
  }

 private:
  std::int64_t rows_of(const Slice& slice) const {
    return std::max<std::int64_t>(1, parameters_[slice.parameter].rows);
  }

  std::vector<BlockGrid> grids_of(const Slice& slice) const {
    return cut_into_blocks(rows_of(slice), slice.size / rows_of(slice), options_.chunk);
  }

  std::int64_t sent_of_chunk(const BlockGrid& grid) const {
    return std::min(options_.k, grid.entries_per_block());
  }

  // Returns the slice's part of `values`, float32 [bucket.size], as a matrix.
  torch::Tensor matrix_of(const Slice& slice, const torch::Tensor& values) const {
    return values.narrow(0, slice.offset, slice.size).view({rows_of(slice), slice.size / rows_of(slice)});
  }

  SentCoefficients choose(const Bucket& bucket, const torch::Tensor& momentum) {
    SentCoefficients sent;
    for (const Slice& slice : bucket.slices) {
      for (const BlockGrid& grid : grids_of(slice)) {
        const torch::Tensor coefficients = transform_.forward(matrix_of(slice, momentum), grid);
        const auto size = static_cast<std::size_t>(grid.entries_per_block());
        const auto count = static_cast<std::size_t>(sent_of_chunk(grid));
        for (std::span<const float> rest = floats(coefficients); !rest.empty(); rest = rest.subspan(size)) {
          for (const std::uint32_t index : top_k_indices(rest.first(size), count)) {
            sent.values.push_back(rest[index]);
            sent.indices.push_back(static_cast<std::uint16_t>(index));
          }
        }
      }
    }
    return sent;
  }

  // Sets `values` to the inverse transform of each coefficient's mean over the messages that have it, added in the
  // given order.
  void decode(const Bucket& bucket, std::span<const SentCoefficients> all, const torch::Tensor& values) {
    std::size_t begin = 0;
    for (const Slice& slice : bucket.slices) {
      for (const BlockGrid& grid : grids_of(slice)) {
        const torch::Tensor coefficients = torch::zeros({grid.blocks(), grid.entries_per_block()});
        const auto size = static_cast<std::size_t>(grid.entries_per_block());
        const auto count = static_cast<std::size_t>(sent_of_chunk(grid));
        const torch::Tensor senders = torch::zeros_like(coefficients);
        for (std::size_t chunk = 0; chunk < floats(coefficients).size(); chunk += size) {
          const auto sums = floats(coefficients).subspan(chunk, size);
          const auto counts = floats(senders).subspan(chunk, size);
          for (const SentCoefficients& sent : all) add(sent, begin, count, sums, counts);
          begin += count;
        }
        coefficients.div_(senders.clamp_min_(1));
        transform_.inverse(coefficients, grid, matrix_of(slice, values));
      }
    }
  }

  static void add(const SentCoefficients& sent, std::size_t begin, std::size_t count, std::span<float> sums,
                  std::span<float> counts) {
    for (std::size_t i = begin; i < begin + count; ++i) {
      if (sent.indices[i] >= sums.size()) {
        throw CollectiveError(fmt::format("a message of coefficients has index {} in a chunk of {} entries",
                                          sent.indices[i], sums.size()));
      }
      sums[sent.indices[i]] += sent.values[i];
      counts[sent.indices[i]] += 1;
    }
  }

  static float visible_sign(float value) {
    if (!std::isfinite(value)) return std::numeric_limits<float>::quiet_NaN();
    return static_cast<float>((value > 0 ? 1 : 0) - (value < 0 ? 1 : 0));
  }

  DemoOptions options_;
  std::vector<ParameterInfo> parameters_;
  StagedState momentum_;  // m
  KeptEntries kept_;
  BlockTransform transform_;
  double learning_rate_ = 1;
};

THINPIPE_REGISTER(Synchroniser){
    "demo", "DeMo: the strongest frequencies of each worker's momentum, and the sign of their sum",
    describe_options<DemoOptions>(), [](JsonObject& object, const SynchroniserContext& context) {
      return std::make_unique<Demo>(read_options<DemoOptions>(object), context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
