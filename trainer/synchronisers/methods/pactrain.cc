// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "common/support/options.hh"
#include "trainer/collectives/replica_check.hh"
#include "trainer/synchronisers/kept_entries.hh"
#include "trainer/synchronisers/packed/mask_tracker.hh"
#include "trainer/synchronisers/packed/packed_exchange.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {
namespace {

struct PacTrainOptions {
  std::string values = "float32";
  double clip = 2.5;
  bool error_feedback = false;
  std::string source = "declared";
  std::int64_t stable_iterations = 5;
  std::string rule = "union";

  void visit(auto& field) {
    field("values", values,
          Rule{.effect = "how kept entries are sent: float32 (lossless) or ternary (-1, 0, 1 times a scale "
                         "per layer)",
               .one_of = {"float32", "ternary"}});
    field("clip", clip,
          Rule{.effect = "for ternary without error feedback: clip at this many standard deviations of the "
                         "layer, as in terngrad; 0: never",
               .at_least = 0});
    field("error_feedback", error_feedback,
          Rule{.effect = "for ternary: add the rounding error to the next gradient, and round to nearest "
                         "instead of drawing (an extension to the paper)"});
    field("source", source,
          Rule{.effect = "source of the pattern of entries that may be non-zero: declared (the pruning mask) "
                         "or observed (detected in reduced gradients, as in the paper)",
               .one_of = {"declared", "observed"}});
    field("stable_iterations", stable_iterations,
          Rule{.effect = "for observed: consecutive steps that must confirm a bucket's pattern before "
                         "it is packed",
               .at_least = 1});
    field("rule", rule,
          Rule{.effect =
                   "for observed: which steps confirm a pattern: union (no entry outside it) or exact (the "
                   "same entries)",
               .one_of = {"union", "exact"}});
  }
};

// Counts over all buckets, in buckets times steps.
struct Counters {
  std::int64_t full = 0;    // sent in full, also after an escape
  std::int64_t packed = 0;  // sent packed, without an escape
  std::int64_t escapes = 0;

  Counters& operator+=(const Counters& other) {
    full += other.full;
    packed += other.packed;
    escapes += other.escapes;
    return *this;
  }
};

// Exchanges a bucket. If its tracker has a pattern, gathers the entries in the pattern, reduces them, and
// scatters the result. An appended flag is set if any other entry is non-zero. Without a pattern, or if the
// reduced flag is set, all-reduces the original gradient in full; every worker sees the same flag.
//
// PacTrain (2025). Payload: 4n in full; packed, that of its values; both in a step with an escape, so an
// observed pattern's payload is an upper bound. A bucket's first packed step after it was observed gathers
// hashes of the pattern, 8 bytes more. State: for observed patterns, a bit per entry and the tracker's
// counts; the state of the values' exchange; counters.
class PacTrain : public Synchroniser {
 public:
  PacTrain(const PacTrainOptions& options, const SynchroniserContext& context,
           std::unique_ptr<PackedExchange> exchange)
      : options_(options),
        parameters_(context.parameters),
        kept_(context.kept),
        exchange_(std::move(exchange)) {}

  MethodProperties properties() const override {
    return {.estimate = exchange_->estimate(),
            .all_reduce_compatible = true,
            .traffic_depends_on_data = observes()};
  }

  std::optional<int> max_workers() const override { return exchange_->max_workers(); }

  // An observed pattern is valid for one layout.
  void prepare(const std::vector<Bucket>& layout) override {
    layout_ = layout;
    for (Bucket& bucket : layout_) bucket.gradient = torch::Tensor();
    trackers_.clear();
    for (const Bucket& bucket : layout_) trackers_.push_back(make_tracker(bucket));
  }

  // prepare() follows.
  void adopt_masks(const std::vector<torch::Tensor>& kept) override {
    kept_.adopt(kept);
    exchange_->adopt_masks(kept);
  }

  void begin_step(std::uint64_t step) override { exchange_->begin_step(step); }

  void add_residual(Bucket& bucket) const override { exchange_->add_residual(bucket); }

  void synchronise(Bucket& bucket, Collective& network) override {
    MaskTracker& tracker = trackers_.at(bucket.index);
    exchange_->add_residual(bucket);
    if (tracker.is_packed()) {
      if (tracker.must_agree())
        check_replicas(fmt::format("pattern of bucket {}", bucket.index), tracker.hash(), network);
      if (exchange_->exchange(bucket, packed_layout(bucket), network)) {
        tracker.stage_packed();
        staged_.packed += 1;
        return;
      }
      staged_.escapes += 1;
    }
    bucket.gradient.div_(network.world_size());
    network.all_reduce(bucket.gradient, Reduction::sum);
    exchange_->clear_residual(bucket);
    tracker.stage_full(bucket.gradient);
    staged_.full += 1;
  }

  void finish_step(bool applied) override {
    for (MaskTracker& tracker : trackers_) applied ? tracker.commit() : tracker.discard();
    if (applied) counters_ += staged_;
    staged_ = {};
    exchange_->finish_step(applied);
  }

  // Only observed patterns can have escapes: outside a declared pattern the gradient is zero.
  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    const MaskTracker& tracker = trackers_.at(bucket.index);
    const ExpectedTraffic full = all_reduce_traffic(4 * bucket.size, world_size);
    if (!tracker.is_packed()) return full;
    ExpectedTraffic traffic = exchange_->traffic(packed_layout(bucket), world_size);
    if (observes()) traffic += full;
    if (tracker.must_agree()) traffic += all_gather_traffic(kHashBytes, world_size);
    return traffic;
  }

  // An observed pattern converges to the declared one, unless kept weights have no gradient.
  ExpectedTraffic steady_state_traffic(const Bucket& bucket, int world_size) const override {
    const MaskTracker declared = MaskTracker::declared(kept_.mask(bucket), exchange_->packs_whole());
    if (!declared.is_packed()) return all_reduce_traffic(4 * bucket.size, world_size);
    return exchange_->traffic(packed_layout(bucket, declared), world_size);
  }

  Json state() const override {
    return {
        {"full_steps", counters_.full}, {"packed_steps", counters_.packed}, {"escapes", counters_.escapes}};
  }

  void save(TensorMap& state, const std::string& prefix) const override {
    state[prefix + "counters"] =
        torch::tensor({counters_.full, counters_.packed, counters_.escapes}, torch::kLong);
    exchange_->save(state, prefix);
    if (observes()) save_patterns(state, prefix);
  }

  void load(const TensorMap& state, const std::string& prefix) override {
    const torch::Tensor counters =
        expect_tensor(state, prefix + "counters", torch::empty({3}, torch::kLong), "checkpoint");
    counters_ = {.full = counters[0].item<std::int64_t>(),
                 .packed = counters[1].item<std::int64_t>(),
                 .escapes = counters[2].item<std::int64_t>()};
    exchange_->load(state, prefix);
    if (observes()) load_patterns(state, prefix);
  }

 private:
  static constexpr std::int64_t kHashBytes = 8;

  bool observes() const { return options_.source == "observed"; }

  MaskTracker make_tracker(const Bucket& bucket) const {
    if (!observes()) return MaskTracker::declared(kept_.mask(bucket), exchange_->packs_whole());
    const Stability stability{.exact = options_.rule == "exact", .iterations = options_.stable_iterations};
    return MaskTracker::observed(bucket.size, stability, exchange_->packs_whole());
  }

  PackedLayout packed_layout(const Bucket& bucket) const {
    return packed_layout(bucket, trackers_.at(bucket.index));
  }

  static PackedLayout packed_layout(const Bucket& bucket, const MaskTracker& tracker) {
    PackedLayout layout{.entries = tracker.entries()};
    for (const Slice& slice : bucket.slices) {
      layout.layer_ends.push_back(
          static_cast<std::size_t>(layout.entries.packed_before(slice.offset + slice.size)));
    }
    return layout;
  }

  // Saves patterns per parameter, with their bucket's phase and count, as "pattern.NAME": any layout can load
  // them.
  void save_patterns(TensorMap& state, const std::string& prefix) const {
    torch::Tensor phases = torch::zeros({std::ssize(parameters_), 2}, torch::kLong);
    for (const Bucket& bucket : layout_) {
      const MaskTracker::State& tracked = trackers_[bucket.index].state();
      for (const Slice& slice : bucket.slices) {
        state[prefix + "pattern." + parameters_[slice.parameter].name] =
            tracked.reference.narrow(0, slice.offset, slice.size).clone();
        const auto row = static_cast<std::int64_t>(slice.parameter);
        phases[row][0] = static_cast<std::int64_t>(tracked.phase);
        phases[row][1] = tracked.count;
      }
    }
    state[prefix + "phases"] = phases;
  }

  // A bucket resumes in the phase of its least advanced parameter.
  void load_patterns(const TensorMap& state, const std::string& prefix) {
    const torch::Tensor phases = expect_tensor(
        state, prefix + "phases", torch::empty({std::ssize(parameters_), 2}, torch::kLong), "checkpoint");
    for (const Bucket& bucket : layout_) {
      std::vector<torch::Tensor> patterns;
      std::vector<torch::Tensor> rows;
      for (const Slice& slice : bucket.slices) {
        patterns.push_back(expect_tensor(state, prefix + "pattern." + parameters_[slice.parameter].name,
                                         torch::empty({slice.size}, torch::kBool), "checkpoint"));
        rows.push_back(phases[static_cast<std::int64_t>(slice.parameter)]);
      }
      const torch::Tensor least = torch::stack(rows).amin(0);
      trackers_[bucket.index].restore(
          {.phase = static_cast<MaskTracker::Phase>(least[0].item<std::int64_t>()),
           .count = least[1].item<std::int64_t>(),
           .reference = torch::cat(patterns)});
    }
  }

  PacTrainOptions options_;
  std::vector<ParameterInfo> parameters_;
  KeptEntries kept_;
  std::unique_ptr<PackedExchange> exchange_;
  std::vector<Bucket> layout_;
  std::vector<MaskTracker> trackers_;  // per bucket
  Counters counters_;
  Counters staged_;
};

std::unique_ptr<PackedExchange> make_exchange(const PacTrainOptions& options,
                                              const SynchroniserContext& context) {
  if (options.values == "float32") return make_float_exchange();
  if (options.error_feedback) return make_ternary_feedback_exchange(context.parameters);
  return make_ternary_exchange(options.clip, context.seed);
}

THINPIPE_REGISTER(Synchroniser){
    "pactrain", "packed all-reduce of the entries that pruning kept, optionally ternary",
    describe_options<PacTrainOptions>(),
    [](JsonObject& object, const SynchroniserContext& context) -> std::unique_ptr<Synchroniser> {
      const auto options = read_options<PacTrainOptions>(object);
      if (options.error_feedback && options.values == "float32") {
        throw InputError(object.place_of("error_feedback"),
                         "needs \"values\": \"ternary\"; float32 values are exact");
      }
      const PacTrainOptions defaults;
      if ((options.error_feedback || options.values == "float32") && options.clip != defaults.clip) {
        throw InputError(object.place_of("clip"),
                         "has an effect only with \"values\": \"ternary\" without error feedback; remove it");
      }
      if (options.source == "declared" && options.rule != defaults.rule) {
        throw InputError(object.place_of("rule"),
                         "has an effect only with \"source\": \"observed\"; remove it");
      }
      if (options.source == "declared" && options.stable_iterations != defaults.stable_iterations) {
        throw InputError(object.place_of("stable_iterations"),
                         "has an effect only with \"source\": \"observed\"; remove it");
      }
      return std::make_unique<PacTrain>(options, context, make_exchange(options, context));
    }};

}  // namespace
}  // namespace thinpipe::trainer
