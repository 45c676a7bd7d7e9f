// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "common/support/options.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/synchronisers/kept_entries.hh"
#include "trainer/synchronisers/messages.hh"
#include "trainer/synchronisers/quantised/code_exchange.hh"
#include "trainer/synchronisers/quantised/vote_code.hh"
#include "trainer/synchronisers/residual.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {
namespace {

struct SignSgdOptions {
  std::string exchange = "auto";
  double momentum = 0;

  void visit(auto& field) {
    field("exchange", exchange,
          Rule{.effect = "how signs are sent: all_gather, one bit each, two in tensors with zeros; "
                         "all_reduce of sums; auto, whichever loads the network less; all give "
                         "the same result",
               .one_of = {"auto", "all_gather", "all_reduce"}});
    field("momentum", momentum,
          Rule{.effect = "momentum coefficient, applied before the sign is taken: Signum, for example 0.9; "
                         "0: signSGD",
               .at_least = 0,
               .below = 1});
  }
};

// The workers vote on every entry:
//   m = β·m + (1 - β)·g;  out = sign(Σ_w sign(m_w));  sign(0) = 0, in a worker's vote and in a tie
// The result is a direction, not a mean: each weight moves by the optimiser's learning rate, about 1e-4.
// Bernstein et al., signSGD (ICML 2018) and signSGD with Majority Vote is Communication Efficient and Fault
// Tolerant (ICLR 2019). In published one-bit codes a zero votes for +, which moves weights that have no
// gradient on any worker. Here a worker sends two bits per entry for a tensor in which it has zeros
// (vote_code.hh), and both exchanges give the same bits. Pruned entries are not sent.
//
// State: m, float32 [n], for momentum above 0. Each worker contributes 4 + Σ_l (1 + ⌈n_l/8⌉) bytes to an
// all-gather, up to 4 + Σ_l (1 + ⌈n_l/4⌉) with zeros in every tensor l; or n + 1 to an all-reduce, in which
// the additional sum reports non-finite values.
class SignSgd : public Synchroniser {
 public:
  SignSgd(const SignSgdOptions& options, const SynchroniserContext& context)
      : options_(options), sums_(sums_codes(options.exchange, context.network, 1)), kept_(context.kept) {
    if (options.momentum > 0) momentum_.emplace(context.parameters);
  }

  MethodProperties properties() const override {
    return {.estimate = Estimate::biased,
            .all_reduce_compatible = sums_,
            .traffic_depends_on_data = !sums_,
            .applies_momentum = momentum_.has_value()};
  }

  std::optional<int> max_workers() const override { return max_workers_of_code_sums(1); }

  // Signs do not depend on the gradient's norm.
  Clipping clipping() const override { return momentum_ ? Clipping::local : Clipping::none; }

  void adopt_masks(const std::vector<torch::Tensor>& kept) override {
    kept_.adopt(kept);
    if (momentum_) momentum_->drop_pruned(kept);
  }

  void synchronise(Bucket& bucket, Collective& network) override {
    if (momentum_) apply_momentum(*momentum_, bucket);
    const torch::Tensor values = kept_.pack(bucket);
    if (sums_) {
      vote_by_reducing(floats(values), network);
    } else {
      vote_by_gathering(bucket, floats(values), network);
    }
    kept_.unpack(values, bucket, bucket.gradient);
  }

  void finish_step(bool applied) override {
    if (momentum_) applied ? momentum_->commit() : momentum_->discard();
  }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    return traffic_of(bucket, world_size, largest_vote_bytes);
  }

  // For tensors without zeros.
  ExpectedTraffic steady_state_traffic(const Bucket& bucket, int world_size) const override {
    return traffic_of(bucket, world_size, usual_vote_bytes);
  }

  void save(TensorMap& state, const std::string& prefix) const override {
    if (momentum_) momentum_->save(state, prefix + "momentum.");
  }
  void load(const TensorMap& state, const std::string& prefix) override {
    if (momentum_) momentum_->load(state, prefix + "momentum.");
  }

 private:
  // Replaces the gradient by m.
  void apply_momentum(StagedState& momentum, Bucket& bucket) const {
    bucket.gradient.mul_(1 - options_.momentum);
    for (const Slice& slice : bucket.slices) {
      bucket.view(slice).add_(momentum.of(slice.parameter), options_.momentum);
    }
    momentum.stage(bucket, bucket.gradient);
  }

  // The result if some worker's values are not finite.
  static constexpr float not_finite = std::numeric_limits<float>::quiet_NaN();

  // Sets `values` to the outcome of the vote.
  static void decide(std::span<const std::int8_t> votes, std::span<float> values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>((votes[i] > 0 ? 1 : 0) - (votes[i] < 0 ? 1 : 0));
    }
  }

  // Calls tensor(part) for the kept entries of each of the bucket's tensors.
  void for_each_tensor(const Bucket& bucket, std::span<float> values, const auto& tensor) const {
    for (const Slice& slice : bucket.slices) {
      const auto size = static_cast<std::size_t>(kept_.count(slice));
      tensor(values.first(size));
      values = values.subspan(size);
    }
  }

  void vote_by_gathering(const Bucket& bucket, std::span<float> values, Collective& network) const {
    std::vector<std::uint8_t> own;
    for_each_tensor(bucket, values, [&](std::span<float> part) { append_votes(part, own); });
    const Messages messages = gather_any(torch::tensor(own, torch::kByte), network);
    std::vector<std::span<const std::uint8_t>> unread;
    for (const torch::Tensor& message : messages) unread.emplace_back(elements<std::uint8_t>(message));
    for_each_tensor(bucket, values, [&](std::span<float> part) {
      std::vector<std::int8_t> votes(part.size());
      bool finite = true;
      for (std::span<const std::uint8_t>& message : unread) finite = add_votes(message, votes) && finite;
      decide(votes, part);
      if (!finite) std::ranges::fill(part, not_finite);
    });
    for (const std::span<const std::uint8_t>& message : unread) {
      if (message.empty()) continue;
      throw CollectiveError(fmt::format("a message of votes has {} bytes too many", message.size()));
    }
  }

  // The last vote reports non-finite values, which are known once all other votes are made.
  static void vote_by_reducing(std::span<float> values, Collective& network) {
    const torch::Tensor tensor = torch::empty({std::ssize(values) + 1}, torch::kChar);
    const std::span<std::int8_t> votes = elements<std::int8_t>(tensor);
    const auto size_of = [&](std::size_t begin, std::size_t end) {
      return std::min(end, values.size()) - begin;
    };
    bool finite = true;
    const auto produce = [&](std::size_t begin, std::size_t end) {
      const std::size_t size = size_of(begin, end);
      finite = signs_of(values.subspan(begin, size), votes.subspan(begin, size)) && finite;
      if (end == votes.size()) votes.back() = finite ? 0 : 1;
    };
    const auto consume = [&](std::size_t begin, std::size_t end) {
      const std::size_t size = size_of(begin, end);
      decide(votes.subspan(begin, size), values.subspan(begin, size));
    };
    network.all_reduce_quantised(tensor, 1, {.produce = produce, .consume = consume});
    if (votes.back() != 0) std::ranges::fill(values, not_finite);
  }

  ExpectedTraffic traffic_of(const Bucket& bucket, int world_size,
                             std::int64_t (*vote_bytes)(std::int64_t values)) const {
    if (sums_) return all_reduce_quantised_traffic(kept_.count(bucket) + 1, 1, world_size);
    std::int64_t bytes = 0;
    for (const Slice& slice : bucket.slices) bytes += vote_bytes(kept_.count(slice));
    return gathered_sizes_traffic(world_size) + all_gather_traffic(bytes, world_size);
  }

  SignSgdOptions options_;
  bool sums_;
  KeptEntries kept_;
  std::optional<StagedState> momentum_;  // m
};

THINPIPE_REGISTER(Synchroniser){
    "signsgd", "signSGD or Signum: the majority vote of signs", describe_options<SignSgdOptions>(),
    [](JsonObject& object, const SynchroniserContext& context) {
      return std::make_unique<SignSgd>(read_options<SignSgdOptions>(object), context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
