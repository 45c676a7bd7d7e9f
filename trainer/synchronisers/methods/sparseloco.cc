// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "common/support/options.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/kept_entries.hh"
#include "trainer/synchronisers/messages.hh"
#include "trainer/synchronisers/residual.hh"
#include "trainer/synchronisers/sparse/chunk_code.hh"
#include "trainer/synchronisers/synchroniser.hh"
#include "trainer/synchronisers/transforms/block_grid.hh"

namespace thinpipe::trainer {
namespace {

struct SparselocoOptions {
  std::int64_t local_steps = 20;
  double beta = 0.95;
  double learning_rate = 1;
  std::int64_t chunk = 64;
  std::int64_t k = 64;
  std::string values = "two_bits";

  void visit(auto& field) {
    field("local_steps", local_steps,
          Rule{.effect = "steps of each worker's own optimiser between two exchanges", .at_least = 1});
    field("beta", beta,
          Rule{.effect = "fraction of the residual kept from exchange to exchange",
               .at_least = 0,
               .at_most = 1});
    field("learning_rate", learning_rate, Rule{.effect = "step size along the mean change", .above = 0});
    field("chunk", chunk,
          Rule{.effect = "matrices are cut into squares with this many rows and columns, vectors into pieces "
                         "of as many entries as a square",
               .at_least = 1,
               .at_most = 256});
    field("k", k, Rule{.effect = "entries that each chunk sends", .at_least = 1});
    field("values", values,
          Rule{.effect = "two_bits: a sign and one of two magnitudes of the chunk; f32: as they are",
               .one_of = {"two_bits", "f32"}});
  }
};

// Local steps, and then the largest entries of each chunk of the weights' change in two bits each. With c = W - W0 the
// change since the last exchange, for each chunk of a tensor:
//   a = β·e + c;  I = the k largest |a|;  q = Q(a on I);  e' = a - q;  W = W0 + η·(1/N)·Σ_w q_w
// Q splits the magnitudes of a[I] at their mean, and replaces those of each side by their mean (chunk_code.hh).
// The residual, which decays, takes the place of DiLoCo's outer momentum. Sarfi, Thérien, Lidin, Belilovsky:
// Communication Efficient LLM Pre-training with SparseLoCo (2025). Only its abstract was available: β, k, the chunks and
// two bits are the paper's, how Q divides magnitudes is ours.
//
// Pruned entries stay zero: they are cleared in the result and in e'.
// State: e, float32 [n]. Each worker contributes min(k, entries) indices of ⌈log2(entries)⌉ bits and values per chunk to
// an all-gather, and two float32 per chunk with two_bits, once per local_steps steps.
class Sparseloco : public Synchroniser {
 public:
  Sparseloco(const SparselocoOptions& options, const SynchroniserContext& context)
      : options_(options),
        parameters_(context.parameters),
        residual_(context.parameters),
        kept_(context.kept) {}

  MethodProperties properties() const override {
    return {.estimate = options_.beta == 1 && options_.learning_rate == 1 ? Estimate::error_feedback
                                                                          : Estimate::biased};
  }

  Clipping clipping() const override { return Clipping::local; }
  std::optional<std::int64_t> local_steps() const override { return options_.local_steps; }

  void adopt_masks(const std::vector<torch::Tensor>& kept) override {
    residual_.drop_pruned(kept);
    kept_.adopt(kept);
  }

  void add_residual(Bucket& bucket) const override {
    for (const Slice& slice : bucket.slices)
      bucket.view(slice).add_(residual_.of(slice.parameter), options_.beta);
  }

  void synchronise(Bucket& bucket, Collective& network) override {
    add_residual(bucket);
    const torch::Tensor message = encode(bucket);
    const torch::Tensor residual = bucket.gradient - decoded({message}, bucket);
    kept_.clear_pruned(bucket, residual);
    residual_.stage(bucket, residual);

    const torch::Tensor sum = decoded(gather_equal(message, network), bucket);
    bucket.gradient.copy_(sum).mul_(options_.learning_rate / network.world_size());
    kept_.clear_pruned(bucket, bucket.gradient);
  }

  void finish_step(bool applied) override { applied ? residual_.commit() : residual_.discard(); }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    std::int64_t bits = 0;
    for (const Slice& slice : bucket.slices) {
      for (const BlockGrid& grid : grids_of(slice)) bits += grid.blocks() * code_of(grid).bits();
    }
    return all_gather_traffic((bits + 7) / 8, world_size);
  }

  void save(TensorMap& state, const std::string& prefix) const override { residual_.save(state, prefix); }
  void load(const TensorMap& state, const std::string& prefix) override { residual_.load(state, prefix); }

 private:
  std::int64_t rows_of(const Slice& slice) const {
    return std::max<std::int64_t>(1, parameters_[slice.parameter].rows);
  }

  std::vector<BlockGrid> grids_of(const Slice& slice) const {
    const bool is_vector = parameters_[slice.parameter].dimensions <= 1;
    const std::int64_t side = is_vector ? options_.chunk * options_.chunk : options_.chunk;
    return cut_into_blocks(rows_of(slice), slice.size / rows_of(slice), side);
  }

  ChunkCode code_of(const BlockGrid& grid) const {
    return {grid.entries_per_block(), options_.k, options_.values == "two_bits"};
  }

  // Returns the slice's part of `values`, float32 [bucket.size], as the matrix that its grids cut.
  torch::Tensor matrix_of(const Slice& slice, const torch::Tensor& values) const {
    return values.narrow(0, slice.offset, slice.size).view({rows_of(slice), slice.size / rows_of(slice)});
  }

  torch::Tensor encode(const Bucket& bucket) const {
    std::vector<std::uint8_t> message;
    BitWriter writer(message);
    for (const Slice& slice : bucket.slices) {
      for (const BlockGrid& grid : grids_of(slice)) {
        const ChunkCode code = code_of(grid);
        const torch::Tensor chunks = blocks_of(matrix_of(slice, bucket.gradient), grid).contiguous();
        for_each_chunk(chunks, code, [&](std::span<float> chunk) { code.append(chunk, writer); });
      }
    }
    writer.finish();
    return message_of(std::move(message));
  }

  // Returns the sum of what the messages decode to, added in the given order: float32 [bucket.size].
  torch::Tensor decoded(const Messages& messages, const Bucket& bucket) const {
    const torch::Tensor sum = torch::zeros({bucket.size});
    std::vector<BitReader> readers;
    for (const torch::Tensor& message : messages) readers.emplace_back(elements<std::uint8_t>(message));
    for (const Slice& slice : bucket.slices) {
      for (const BlockGrid& grid : grids_of(slice)) {
        const ChunkCode code = code_of(grid);
        const torch::Tensor chunks = torch::zeros({grid.down, grid.across, grid.height, grid.width});
        for_each_chunk(chunks, code, [&](std::span<float> chunk) {
          for (BitReader& reader : readers) code.add(reader, chunk);
        });
        blocks_of(matrix_of(slice, sum), grid).copy_(chunks);
      }
    }
    return sum;
  }

  static void for_each_chunk(const torch::Tensor& chunks, const ChunkCode& code, const auto& chunk) {
    const auto size = static_cast<std::size_t>(code.entries());
    for (std::span<float> rest = floats(chunks); !rest.empty(); rest = rest.subspan(size))
      chunk(rest.first(size));
  }

  SparselocoOptions options_;
  std::vector<ParameterInfo> parameters_;
  Residual residual_;  // e
  KeptEntries kept_;
};

THINPIPE_REGISTER(Synchroniser){
    "sparseloco",
    "SparseLoCo: after local steps, the largest entries of each chunk in two bits, with feedback",
    describe_options<SparselocoOptions>(), [](JsonObject& object, const SynchroniserContext& context) {
      return std::make_unique<Sparseloco>(read_options<SparselocoOptions>(object), context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
