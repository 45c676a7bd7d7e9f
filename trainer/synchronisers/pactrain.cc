#include <limits>

#include "harness/support/options.hh"
#include "trainer/philox.hh"
#include "trainer/synchronisers/mask_tracker.hh"
#include "trainer/synchronisers/synchroniser.hh"
#include "trainer/synchronisers/ternary.hh"

namespace thinpipe::trainer {
namespace {

struct PacTrainOptions {
  std::string values = "float32";

  void visit(auto& field) {
    field("values", values,
          Rule{.effect = "what travels of each kept entry: float32 (lossless) or ternary (-1, 0, 1 times a "
                         "scale per layer)",
               .one_of = {"float32", "ternary"}});
  }
};

std::span<float> floats(torch::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

// A layer's part of a packed bucket.
struct Segment {
  std::size_t begin = 0;
  std::size_t end = 0;

  template <class T>
  std::span<T> of(std::span<T> packed) const {
    return packed.subspan(begin, end - begin);
  }
};

// A bucket's pattern and, for ternary values, its layers.
struct PackedBucket {
  MaskTracker tracker;
  std::vector<Segment> segments;
};

PackedBucket pack_layout(const Bucket& bucket, const std::vector<torch::Tensor>& kept) {
  std::vector<torch::Tensor> masks;
  std::vector<Segment> segments;
  std::size_t packed_end = 0;
  for (const Slice& slice : bucket.slices) {
    const torch::Tensor& mask = kept[slice.parameter];
    masks.push_back(mask.defined() ? mask : torch::ones({slice.size}, torch::kBool));
    const std::size_t begin = packed_end;
    packed_end += static_cast<std::size_t>(masks.back().sum().item<std::int64_t>());
    segments.push_back({begin, packed_end});
  }
  return {MaskTracker(torch::cat(masks)), std::move(segments)};
}

// What both variants share: gather the entries that the pruning mask keeps, append a flag that says whether
// any entry outside the mask was non-zero, reduce, and scatter; when the reduced flag is set, every worker
// alike repeats the step with a full all-reduce of the gradient as it was. PacTrain (2025).
class PacTrain : public Synchroniser {
 public:
  explicit PacTrain(std::vector<torch::Tensor> kept) : kept_(std::move(kept)) {}

  void prepare(const std::vector<Bucket>& layout) override {
    buckets_.clear();
    for (const Bucket& bucket : layout) buckets_.push_back(pack_layout(bucket, kept_));
  }

  void begin_step(std::uint64_t step) override { step_ = step; }

  void synchronise(Bucket& bucket, Collective& network) override {
    if (!exchange_packed(bucket, packed(bucket), network)) exchange_full(bucket, network);
  }

 protected:
  const PackedBucket& packed(const Bucket& bucket) const { return buckets_.at(bucket.index); }
  std::uint64_t step() const { return step_; }

  // Leaves the mean over workers in bucket.gradient and returns true; or, an entry having escaped on some
  // worker, leaves the gradient as it was and returns false, on every worker alike.
  virtual bool exchange_packed(Bucket& bucket, const PackedBucket& layout, Collective& network) = 0;

  static void exchange_full(Bucket& bucket, Collective& network) {
    bucket.gradient.div_(network.world_size());
    network.all_reduce(bucket.gradient, Reduction::sum);
  }

 private:
  std::vector<torch::Tensor> kept_;
  std::vector<PackedBucket> buckets_;
  std::uint64_t step_ = 0;
};

// Payload 4(nnz + 1) bytes: exact on the mask. A mask without zeros is not packed at all: payload 4n.
class PacTrainFloat : public PacTrain {
 public:
  using PacTrain::PacTrain;

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    const MaskTracker& tracker = packed(bucket).tracker;
    return all_reduce_traffic(4 * (tracker.is_full() ? tracker.size() : tracker.packed_size() + 1),
                              world_size);
  }

 protected:
  bool exchange_packed(Bucket& bucket, const PackedBucket& layout, Collective& network) override {
    const MaskTracker& tracker = layout.tracker;
    if (tracker.is_full()) return false;
    torch::Tensor buffer = torch::empty({tracker.packed_size() + 1});
    const std::span<float> values = floats(buffer);
    const float share = 1.0F / static_cast<float>(network.world_size());
    values.back() = tracker.gather(floats(bucket.gradient), share, values) > 0 ? 1.0F : 0.0F;
    network.all_reduce(buffer, Reduction::sum);
    if (values.back() != 0.0F) return false;
    tracker.scatter(values, floats(bucket.gradient));
    return true;
  }
};

// TernGrad's values on the packed entries q, per layer l:
//   s_l = max over workers of max|q|;  c_i = sign(q_i)·Bernoulli(|q_i| / s_l) in {-1, 0, 1};  out_i =
//   s_l·(Σ_w c_i)/N
// Unbiased for the masked mean; no residual, as in the paper. Codes are summed as int8, so N <= 127.
// Payload (nnz + 1) + 4L bytes, L layers in the bucket.
class PacTrainTernary : public PacTrain {
 public:
  PacTrainTernary(std::vector<torch::Tensor> kept, std::uint64_t seed)
      : PacTrain(std::move(kept)), seed_(seed) {}

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    const PackedBucket& layout = packed(bucket);
    return all_reduce_traffic(layout.tracker.packed_size() + 1, world_size) +
           all_reduce_traffic(4 * std::ssize(layout.segments), world_size);
  }

 protected:
  bool exchange_packed(Bucket& bucket, const PackedBucket& layout, Collective& network) override {
    if (network.world_size() > std::numeric_limits<std::int8_t>::max()) {
      throw Error("pactrain sums ternary values in int8 and can serve at most 127 workers");
    }
    const MaskTracker& tracker = layout.tracker;
    torch::Tensor kept = torch::empty({tracker.packed_size()});
    const std::span<float> values = floats(kept);
    const bool escaped = tracker.gather(floats(bucket.gradient), 1.0F, values) > 0;

    torch::Tensor scales = layer_scales(layout.segments, values);
    network.all_reduce(scales, Reduction::max);

    torch::Tensor codes = torch::empty({tracker.packed_size() + 1}, torch::kChar);
    const std::span<std::int8_t> code(codes.data_ptr<std::int8_t>(), values.size() + 1);
    draw_codes(bucket, layout.segments, floats(scales), values, network.rank(), code);
    code.back() = escaped ? 1 : 0;
    network.all_reduce(codes, Reduction::sum);
    if (code.back() != 0) return false;

    for (std::size_t layer = 0; layer < layout.segments.size(); ++layer) {
      const Segment& segment = layout.segments[layer];
      const float unit = floats(scales)[layer] / static_cast<float>(network.world_size());
      expand_ternary(segment.of<const std::int8_t>(code), unit, segment.of(values));
    }
    tracker.scatter(values, floats(bucket.gradient));
    return true;
  }

 private:
  static torch::Tensor layer_scales(const std::vector<Segment>& segments, std::span<const float> values) {
    torch::Tensor scales = torch::empty({std::ssize(segments)});
    for (std::size_t layer = 0; layer < segments.size(); ++layer) {
      floats(scales)[layer] = ternary_scale(segments[layer].of(values));
    }
    return scales;
  }

  void draw_codes(const Bucket& bucket, const std::vector<Segment>& segments, std::span<const float> scales,
                  std::span<const float> values, int rank, std::span<std::int8_t> codes) const {
    std::vector<float> uniform(values.size());
    fill_uniform({.seed = seed_,
                  .step = static_cast<std::uint32_t>(step()),
                  .bucket = static_cast<std::uint32_t>(bucket.index),
                  .rank = static_cast<std::uint32_t>(rank)},
                 uniform);
    for (std::size_t layer = 0; layer < segments.size(); ++layer) {
      const Segment& segment = segments[layer];
      draw_ternary(segment.of(values), scales[layer], segment.of<const float>(uniform), segment.of(codes));
    }
  }

  std::uint64_t seed_;
};

const Registration<Synchroniser, const SynchroniserContext&> registration{
    "pactrain", "packed all-reduce of the entries that pruning kept, optionally ternary",
    describe_options<PacTrainOptions>(),
    [](JsonObject& object, const SynchroniserContext& context) -> std::unique_ptr<Synchroniser> {
      const auto options = read_options<PacTrainOptions>(object);
      if (options.values == "ternary") return std::make_unique<PacTrainTernary>(context.kept, context.seed);
      return std::make_unique<PacTrainFloat>(context.kept);
    }};

}  // namespace
}  // namespace thinpipe::trainer
