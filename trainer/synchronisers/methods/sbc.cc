// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "common/support/options.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/messages.hh"
#include "trainer/synchronisers/residual.hh"
#include "trainer/synchronisers/sparse/index_code.hh"
#include "trainer/synchronisers/sparse/top_k.hh"
#include "trainer/synchronisers/synchroniser.hh"
#include "trainer/synchronisers/vectors_option.hh"

namespace thinpipe::trainer {
namespace {

struct SbcOptions {
  double ratio = 0.01;
  std::int64_t local_steps = 10;
  std::string vectors = "dense";

  void visit(auto& field) {
    field("ratio", ratio, Rule{.effect = "kept fraction of a tensor's entries", .above = 0, .at_most = 1});
    field("local_steps", local_steps,
          Rule{.effect = "steps of each worker's own optimiser between two exchanges", .at_least = 1});
    field("vectors", vectors, vectors_rule());
  }
};

// A tensor's compressed change: one value at some indices, zero elsewhere.
struct OneValue {
  float value = 0;
  std::vector<std::uint32_t> indices;  // ascending

  double mean_magnitude() const { return std::abs(static_cast<double>(value)); }
};

// Sparse binary compression, with error feedback, of the change that a worker's own optimiser makes in
// several steps. For each tensor of n entries, with ΔW = W - W0 the change of the weights since the last
// exchange:
//   R += ΔW;  k = max(1, ceil(ratio·n))
//   P+ = the k largest R > 0, μ+ = mean R[P+];  P- = the k smallest R < 0, μ- = mean |R[P-]|
//   ΔW* = μ+ on P+ where μ+ >= μ-, else -μ- on P-;  R' = R - ΔW*;  W = W0 + (1/N)·Σ_w ΔW*_w
// The worker's optimiser clears its momentum where ΔW* is not zero. The paper takes all entries above a
// threshold, more than k if there are ties; here they are exactly k, or all of that sign if they are fewer.
// By default, biases and normalisation layers are averaged uncompressed, as by other sparse methods. They are
// 0.2 % of a ResNet50's weights, and take more bytes than its messages at a ratio of 0.001, so that the paper's
// compression ratios need "vectors": "compressed". Sattler, Wiedemann, Müller, Samek: Sparse Binary Compression
// (IJCNN 2019); its presets are (1, 0.001), (10, 0.01) and (100, 0.01) for local_steps and ratio.
//
// State: R, float32 [n]. A tensor's message: float32 value, u32 count, the Golomb parameter, and the indices
// in Golomb's code. Every local_steps steps each worker contributes these messages to an all-gather.
class Sbc : public Synchroniser {
 public:
  Sbc(const SbcOptions& options, const SynchroniserContext& context)
      : options_(options), residual_(context.parameters), sent_(context.parameters.size()) {}

  MethodProperties properties() const override {
    return {.estimate = Estimate::error_feedback, .traffic_depends_on_data = true};
  }

  std::optional<std::int64_t> local_steps() const override { return options_.local_steps; }

  bool leaves_dense(const ParameterInfo& parameter) const override {
    return stays_dense(parameter, options_.vectors);
  }

  void add_residual(Bucket& bucket) const override { residual_.add_to(bucket); }
  void adopt_masks(const std::vector<torch::Tensor>& kept) override { residual_.drop_pruned(kept); }
  void finish_step(bool applied) override { applied ? residual_.commit() : residual_.discard(); }
  torch::Tensor forgotten_momentum(std::size_t parameter) const override { return sent_[parameter]; }

  void synchronise(Bucket& bucket, Collective& network) override {
    residual_.add_to(bucket);
    std::vector<std::uint8_t> message;
    for (const Slice& slice : bucket.slices) {
      const OneValue chosen = choose(floats(bucket.view(slice)));
      append(chosen, slice.size, message);
      sent_[slice.parameter] = torch::zeros({slice.size}, torch::kBool);
      for (const std::uint32_t index : chosen.indices) sent_[slice.parameter].data_ptr<bool>()[index] = true;
    }
    add(message, bucket, -1);
    residual_.stage(bucket, bucket.gradient);

    bucket.gradient.zero_();
    for (const torch::Tensor& received : gather_any(message_of(std::move(message)), network)) {
      add(elements<std::uint8_t>(received), bucket, 1);
    }
    bucket.gradient.div_(network.world_size());
  }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    return traffic_with(&IndexCode::bytes, bucket, world_size);
  }

  ExpectedTraffic steady_state_traffic(const Bucket& bucket, int world_size) const override {
    return traffic_with(&IndexCode::expected_bytes, bucket, world_size);
  }

  void save(TensorMap& state, const std::string& prefix) const override { residual_.save(state, prefix); }
  void load(const TensorMap& state, const std::string& prefix) override { residual_.load(state, prefix); }

 private:
  static constexpr std::int64_t header_bytes = 8;

  using IndexBytes = std::int64_t (IndexCode::*)(std::int64_t n, std::int64_t count) const;

  ExpectedTraffic traffic_with(IndexBytes index_bytes, const Bucket& bucket, int world_size) const {
    std::int64_t bytes = 0;
    for (const Slice& slice : bucket.slices) {
      bytes += header_bytes + ((*index_code_).*index_bytes)(slice.size, count_of(slice.size));
    }
    return gathered_sizes_traffic(world_size) + all_gather_traffic(bytes, world_size);
  }

  std::int64_t count_of(std::int64_t n) const {
    const auto count = static_cast<std::int64_t>(std::ceil(options_.ratio * static_cast<double>(n)));
    return std::min(std::max<std::int64_t>(1, count), n);
  }

  OneValue choose(std::span<const float> change) const {
    double sum = 0;
    for (const float value : change) sum += value;
    // The message must carry a NaN, which neither sign would choose.
    if (!std::isfinite(sum)) return {std::numeric_limits<float>::quiet_NaN(), {0}};
    OneValue up = largest_of_sign(change, 1);
    OneValue down = largest_of_sign(change, -1);
    return up.mean_magnitude() >= down.mean_magnitude() ? up : down;
  }

  OneValue largest_of_sign(std::span<const float> change, float sign) const {
    std::vector<float> magnitudes(change.size());
    for (std::size_t i = 0; i < change.size(); ++i) magnitudes[i] = std::max(0.0F, sign * change[i]);
    OneValue out;
    out.indices = top_k_indices(magnitudes, static_cast<std::size_t>(count_of(std::ssize(change))));
    std::erase_if(out.indices, [&](std::uint32_t index) { return magnitudes[index] == 0; });
    if (out.indices.empty()) return out;
    double sum = 0;
    for (const std::uint32_t index : out.indices) sum += magnitudes[index];
    out.value = sign * static_cast<float>(sum / static_cast<double>(out.indices.size()));
    return out;
  }

  void append(const OneValue& chosen, std::int64_t n, std::vector<std::uint8_t>& message) const {
    const auto count = static_cast<std::uint32_t>(chosen.indices.size());
    const std::size_t begin = message.size();
    message.resize(begin + header_bytes);
    std::memcpy(&message[begin], &chosen.value, 4);
    std::memcpy(&message[begin + 4], &count, 4);
    index_code_->append(chosen.indices, static_cast<std::uint32_t>(n), message);
  }

  // Adds `factor` times the decoded message to bucket.gradient.
  void add(std::span<const std::uint8_t> message, Bucket& bucket, float factor) const {
    std::vector<std::uint32_t> indices;
    for (const Slice& slice : bucket.slices) {
      float value = 0;
      std::uint32_t count = 0;
      if (message.size() < header_bytes)
        throw CollectiveError("a message of sparse binary compression ends too soon");
      std::memcpy(&value, message.data(), 4);
      std::memcpy(&count, &message[4], 4);
      if (count > slice.size) {
        throw CollectiveError(fmt::format(
            "a message of sparse binary compression has {} indices in a tensor of {}", count, slice.size));
      }
      message = message.subspan(header_bytes);
      message =
          message.subspan(index_code_->read(message, static_cast<std::uint32_t>(slice.size), count, indices));
      const std::span<float> change = floats(bucket.view(slice));
      for (const std::uint32_t index : indices) change[index] += factor * value;
    }
    if (!message.empty()) {
      throw CollectiveError(
          fmt::format("a message of sparse binary compression has {} bytes too many", message.size()));
    }
  }

  SbcOptions options_;
  Residual residual_;
  std::unique_ptr<IndexCode> index_code_ = make_index_code("golomb");
  std::vector<torch::Tensor> sent_;  // by parameter: bool [size], the entries that the latest exchange sent
};

THINPIPE_REGISTER(Synchroniser){
    "sbc", "sparse binary compression: after some local steps, one value and its indices for each tensor",
    describe_options<SbcOptions>(), [](JsonObject& options, const SynchroniserContext& context) {
      return std::make_unique<Sbc>(read_options<SbcOptions>(options), context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
