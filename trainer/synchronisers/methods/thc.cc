// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "common/support/options.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/kept_entries.hh"
#include "trainer/synchronisers/quantised/bucket_draws.hh"
#include "trainer/synchronisers/quantised/sums.hh"
#include "trainer/synchronisers/quantised/thc_exchange.hh"
#include "trainer/synchronisers/residual.hh"
#include "trainer/synchronisers/synchroniser.hh"
#include "trainer/synchronisers/transforms/block_rotation.hh"

namespace thinpipe::trainer {
namespace {

struct ThcOptions {
  std::int64_t bits = 4;
  std::int64_t granularity = 30;
  double clip = 1.0 / 32;
  std::int64_t block_size = 8192;
  std::string exchange = "auto";

  void visit(auto& field) {
    field("bits", bits, Rule{.effect = "bits per code: 2, 4 or 8", .at_least = 2, .at_most = 8});
    field(
        "granularity", granularity,
        Rule{.effect = "number of steps of the grid that the levels lie on: at least 2^bits - 1, which makes "
                       "every grid point a level; with more steps levels fit better, but sums need more bits",
             .at_least = 1,
             .at_most = 255});
    field("clip", clip,
          Rule{.effect = "fraction of the entries that lie outside the grid and are clipped",
               .above = 0,
               .below = 1});
    field("block_size", block_size,
          Rule{.effect = "entries that are rotated together and share a norm: a power of two",
               .at_least = 1,
               .at_most = 1 << 24});
    field(
        "exchange", exchange,
        Rule{.effect =
                 "how codes are summed: sharded, a few bits per entry to the worker that sums it and the sum "
                 "back; all_reduce of levels; auto, all_reduce along a tree if the sums fit, else sharded; "
                 "all give the same result",
             .one_of = {"auto", "sharded", "all_reduce"}});
  }
};

// Codes that can be summed without decoding. For each block x = g + e of D entries, on a grid of G steps:
//   y = H·diag(ξ)·x;  ν = max over workers of ‖x‖;  M = t·ν/√D, t the normal distribution's bound for `clip`
//   v = (clamp(y, -M, M) + M)·G/2M;  z = the code of a level T[z] next to v, drawn so that E T[z] = v
//   Y = Σ_w T[z_w];  out = diag(ξ)·H·(M·(2Y/N - G)/G);  e' = x - the same of its own T[z]
// Li et al., THC (NSDI 2024). T minimises the error of drawing (thc_table.hh). ξ is drawn for each step and
// bucket, the same on all workers; the published code draws it once, and rounds twice, by a table of 1001
// entries. The paper rotates the gradient as a whole, which can nearly double its size; here blocks are
// rotated, each with its own norm, and only the last is padded.
//
// A block whose norm is 0 has a grid of zero width: its codes are sent anyway, so that sizes are fixed, and
// decode to 0. A rotation moves every entry of its block. Pruned entries are set to 0 in the result and in
// e'. The part of the messages that falls on them is lost, the same on all workers; the gradient was 0 there.
// State: e, float32 [n].
// Payload, for P entries after padding: 4 bytes per block. Sharded, P·bits/8 to the owners and P/N sums of 8
// bits, or 16 if N·G > 255; by all_reduce P, which requires N·⌈G/2⌉ <= 127.
class Thc : public Synchroniser {
 public:
  Thc(const ThcOptions& options, const SynchroniserContext& context)
      : table_(static_cast<int>(options.bits), static_cast<int>(options.granularity), options.clip),
        block_size_(options.block_size),
        exchange_(make_exchange(options.exchange, table_, context.network)),
        residual_(context.parameters),
        kept_(context.kept),
        draws_(context.seed) {}

  MethodProperties properties() const override {
    return {.estimate = Estimate::error_feedback,
            .all_reduce_compatible = exchange_->all_reduce_compatible()};
  }

  std::optional<int> max_workers() const override { return exchange_->max_workers(); }

  void begin_step(std::uint64_t step) override { draws_.begin_step(step); }
  void finish_step(bool applied) override { applied ? residual_.commit() : residual_.discard(); }
  void add_residual(Bucket& bucket) const override { residual_.add_to(bucket); }
  void save(TensorMap& state, const std::string& prefix) const override { residual_.save(state, prefix); }
  void load(const TensorMap& state, const std::string& prefix) override { residual_.load(state, prefix); }

  void adopt_masks(const std::vector<torch::Tensor>& kept) override {
    residual_.drop_pruned(kept);
    kept_.adopt(kept);
  }

  void synchronise(Bucket& bucket, Collective& network) override {
    residual_.add_to(bucket);
    const BlockRotation rotation(bucket.size, block_size_, draws_.shared(bucket));
    const std::vector<float> steps = grid_steps(floats(bucket.gradient), rotation, network);

    const std::vector<float> rotated = rotation.rotate(floats(bucket.gradient));
    const torch::Tensor uniform = draws_.uniform(bucket, network.rank(), std::ssize(rotated));
    const std::vector<std::uint8_t> codes = encode(rotated, rotation, steps, floats(uniform));
    std::vector<std::uint16_t> levels(codes.size());
    std::ranges::transform(codes, levels.begin(), [&](std::uint8_t code) { return table_.levels()[code]; });
    torch::Tensor held = torch::empty({bucket.size});
    decode(levels, 1, rotation, steps, held);
    torch::sub_out(held, bucket.gradient, held);
    kept_.clear_pruned(bucket, held);
    residual_.stage(bucket, held);

    decode(exchange_->sum(codes, network), network.world_size(), rotation, steps, bucket.gradient);
    kept_.clear_pruned(bucket, bucket.gradient);
  }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    const std::int64_t blocks = (bucket.size + block_size_ - 1) / block_size_;
    return all_reduce_traffic(4 * blocks, world_size) +
           exchange_->traffic(BlockRotation::padded_size(bucket.size, block_size_), world_size);
  }

 private:
  static std::unique_ptr<ThcExchange> make_exchange(const std::string& exchange, const ThcTable& table,
                                                    const NetworkShape& network) {
    std::unique_ptr<ThcExchange> summing = make_all_reduce_thc_exchange(table);
    const bool fits = network.sums_along_tree && network.workers <= summing->max_workers();
    const bool sums = exchange == "all_reduce" || (exchange == "auto" && fits);
    return sums ? std::move(summing) : make_sharded_thc_exchange(table);
  }

  // Returns infinity if an entry is not finite.
  static float norm_of(std::span<const float> values) {
    const double norm = std::sqrt(sum_of(values, [](double value) { return value * value; }));
    constexpr float largest = std::numeric_limits<float>::max();
    return norm <= largest ? static_cast<float>(norm) : std::numeric_limits<float>::infinity();
  }

  // Returns for each block the width of a grid step, 2M/G.
  std::vector<float> grid_steps(std::span<const float> values, const BlockRotation& rotation,
                                Collective& network) const {
    std::vector<float> steps;
    for (const auto& block : rotation.blocks())
      steps.push_back(norm_of(values.subspan(block.begin, block.entries)));
    const torch::Tensor norms = torch::tensor(steps);
    network.all_reduce(norms, Reduction::max);
    for (std::size_t b = 0; b < steps.size(); ++b) {
      const double entries = static_cast<double>(rotation.blocks()[b].padded);
      const auto per_norm =
          static_cast<float>(2 * table_.bound() / (std::sqrt(entries) * table_.granularity()));
      steps[b] = floats(norms)[b] * per_norm;
    }
    return steps;
  }

  std::vector<std::uint8_t> encode(std::span<const float> rotated, const BlockRotation& rotation,
                                   std::span<const float> steps, std::span<const float> uniform) const {
    std::vector<std::uint8_t> codes(rotated.size());
    for (std::size_t b = 0; b < steps.size(); ++b) {
      const auto& [begin, size, entries] = rotation.blocks()[b];
      table_.encode(rotated.subspan(begin, size), steps[b], uniform.subspan(begin, size),
                    std::span(codes).subspan(begin, size));
    }
    return codes;
  }

  // Decodes the mean over `workers` workers whose levels have these sums.
  void decode(std::span<const std::uint16_t> sums, int workers, const BlockRotation& rotation,
              std::span<const float> steps, const torch::Tensor& mean) const {
    std::vector<float> rotated(sums.size());
    for (std::size_t b = 0; b < steps.size(); ++b) {
      const auto& [begin, size, entries] = rotation.blocks()[b];
      table_.decode(sums.subspan(begin, size), workers, steps[b], std::span(rotated).subspan(begin, size));
    }
    rotation.rotate_back(rotated, floats(mean));
  }

  ThcTable table_;
  std::int64_t block_size_;
  std::unique_ptr<ThcExchange> exchange_;
  Residual residual_;
  KeptEntries kept_;
  BucketDraws draws_;
};

std::unique_ptr<Synchroniser> make_thc(JsonObject& object, const SynchroniserContext& context) {
  const auto options = read_options<ThcOptions>(object);
  if (options.bits != 2 && options.bits != 4 && options.bits != 8) {
    throw InputError(object.place_of("bits"), fmt::format("must be 2, 4 or 8, but is {}", options.bits));
  }
  if (options.granularity < (1 << options.bits) - 1) {
    throw InputError(
        object.place_of("granularity"),
        fmt::format("must be at least 2^bits - 1 = {}, or two codes would have the same level, but is {}",
                    (1 << options.bits) - 1, options.granularity));
  }
  if (!std::has_single_bit(static_cast<std::uint64_t>(options.block_size))) {
    throw InputError(object.place_of("block_size"),
                     fmt::format("must be a power of two, but is {}", options.block_size));
  }
  return std::make_unique<Thc>(options, context);
}

THINPIPE_REGISTER(Synchroniser){
    "thc", "a few bits per entry after a random rotation, summed without decoding, with error feedback",
    describe_options<ThcOptions>(), make_thc};

}  // namespace
}  // namespace thinpipe::trainer
