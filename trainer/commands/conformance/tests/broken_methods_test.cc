// SPDX-License-Identifier: Apache-2.0
// Deliberately broken methods: the conformance suite must catch each.
#include <algorithm>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/base/byte_codes.hh"
#include "trainer/base/philox.hh"
#include "trainer/base/tensor_span.hh"
#include "trainer/commands/conformance/conformance.hh"
#include "trainer/synchronisers/quantised/ternary.hh"
#include "trainer/synchronisers/residual.hh"
#include "trainer/synchronisers/sparse/top_k.hh"

namespace thinpipe::trainer {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// The fault of a method; `nothing` is the sound method that the others are based on.
enum class Fault {
  nothing,
  sum_instead_of_mean,
  other_bytes_than_claimed,
  delivers_more_than_claimed,
  own_message_first,
  keeps_what_it_sent,
  drops_index_0,
  hides_nan,
  keeps_a_skipped_step,
  state_by_position,
  adds_momentum,
  forgets_its_state,
  counts_its_steps,
  moves_pruned_weights,
  keeps_newly_pruned,
  rounds_down,
  rounds_to_half,
  unreported_rounding,
  gathers_what_should_be_summed,
};

class FaultyDense : public Synchroniser {
 public:
  explicit FaultyDense(Fault fault) : fault_(fault) {}

  MethodProperties properties() const override {
    return {.all_reduce_compatible = fault_ == Fault::gathers_what_should_be_summed};
  }

  void synchronise(Bucket& bucket, Collective& network) override {
    const std::vector<std::int64_t> counts(static_cast<std::size_t>(network.world_size()), bucket.size);
    if (fault_ == Fault::rounds_to_half) bucket.gradient.copy_(bucket.gradient.to(torch::kHalf));
    const torch::Tensor all = network.all_gather_v(bucket.gradient, counts).view({-1, bucket.size});
    bucket.gradient.zero_();
    for (int i = 0; i < network.world_size(); ++i) {
      const int shift = fault_ == Fault::own_message_first ? network.rank() : 0;
      bucket.gradient += all[(i + shift) % network.world_size()];
    }
    if (fault_ != Fault::sum_instead_of_mean) bucket.gradient.div_(network.world_size());
    if (fault_ == Fault::hides_nan) bucket.gradient.nan_to_num_(0, 0, 0);
    if (fault_ == Fault::counts_its_steps) bucket.gradient.mul_(1 + 1e-3 * made_++);
    if (fault_ == Fault::moves_pruned_weights) {
      bucket.gradient.add_(1e-6 * bucket.gradient.sum());
    }
  }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    const std::int64_t bytes = fault_ == Fault::other_bytes_than_claimed ? 2 : 4;
    ExpectedTraffic traffic = all_gather_traffic(bytes * bucket.size, world_size);
    if (fault_ == Fault::delivers_more_than_claimed) traffic.delivered_bytes /= 2;
    return traffic;
  }

 private:
  Fault fault_;
  inline static thread_local double made_ = 0;  // absent from checkpoints, and never reset
};

// Sends half of the entries, with error feedback.
class FaultyTopK : public Synchroniser {
 public:
  FaultyTopK(Fault fault, const SynchroniserContext& context)
      : fault_(fault), residual_(context.parameters), weights_(context.weights) {
    for (const torch::Tensor& weights : weights_) last_weights_.push_back(weights.clone());
  }

  MethodProperties properties() const override { return {.estimate = Estimate::error_feedback}; }

  void prepare(const std::vector<Bucket>& layout) override {
    if (by_position_.size() != layout.size()) by_position_.resize(layout.size());
  }

  void adopt_masks(const std::vector<torch::Tensor>& kept) override {
    if (fault_ != Fault::keeps_newly_pruned) residual_.drop_pruned(kept);
  }

  void add_residual(Bucket& bucket) const override {
    if (fault_ != Fault::state_by_position) {
      residual_.add_to(bucket);
    } else if (by_position_.at(bucket.index).defined()) {
      bucket.gradient += by_position_.at(bucket.index);
    }
  }

  void synchronise(Bucket& bucket, Collective& network) override {
    if (fault_ == Fault::adds_momentum) subtract_movement(bucket);
    add_residual(bucket);
    torch::Tensor sent = torch::zeros({bucket.size});
    for (const std::uint32_t index :
         top_k_indices(floats(bucket.gradient), static_cast<std::size_t>((bucket.size + 1) / 2))) {
      if (fault_ != Fault::drops_index_0 || index != 0) sent[index] = bucket.gradient[index];
      if (fault_ != Fault::keeps_what_it_sent) bucket.gradient[index] = 0;
    }
    residual_.stage(bucket, bucket.gradient);
    by_position_.at(bucket.index) = bucket.gradient.clone();
    if (fault_ == Fault::unreported_rounding) sent.copy_(sent.to(torch::kHalf));
    bucket.gradient.copy_(sent.div_(network.world_size()));
    network.all_reduce(bucket.gradient, Reduction::sum);
  }

  void finish_step(bool applied) override {
    applied || fault_ == Fault::keeps_a_skipped_step ? residual_.commit() : residual_.discard();
  }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    return all_reduce_traffic(4 * bucket.size, world_size);
  }

  void save(TensorMap& state, const std::string& prefix) const override { residual_.save(state, prefix); }
  void load(const TensorMap& state, const std::string& prefix) override {
    if (fault_ != Fault::forgets_its_state) residual_.load(state, prefix);
  }

 private:
  // Like gmc, which therefore cannot promise that nothing is lost or added.
  void subtract_movement(const Bucket& bucket) {
    for (const Slice& slice : bucket.slices) {
      bucket.view(slice).sub_(weights_[slice.parameter] - last_weights_[slice.parameter]);
      last_weights_[slice.parameter].copy_(weights_[slice.parameter]);
    }
  }

  Fault fault_;
  Residual residual_;
  std::vector<torch::Tensor> weights_;
  std::vector<torch::Tensor> last_weights_;
  std::vector<torch::Tensor> by_position_;
};

class FaultyTernary : public Synchroniser {
 public:
  explicit FaultyTernary(Fault fault) : fault_(fault) {}

  MethodProperties properties() const override { return {.estimate = Estimate::unbiased}; }

  void begin_step(std::uint64_t step) override { step_ = static_cast<std::uint32_t>(step); }

  void synchronise(Bucket& bucket, Collective& network) override {
    torch::Tensor scale = torch::full({1}, largest_magnitude(floats(bucket.gradient)));
    network.all_reduce(scale, Reduction::max);
    std::vector<float> uniform(static_cast<std::size_t>(bucket.size));
    fill_uniform({.seed = 3, .step = step_, .rank = static_cast<std::uint32_t>(network.rank())}, uniform);
    if (fault_ == Fault::rounds_down) {
      for (float& u : uniform) u = u * 1.05F;
    }
    torch::Tensor codes = torch::empty({bucket.size}, torch::kChar);
    draw_ternary(floats(bucket.gradient), scale.item<float>(), uniform,
                 {codes.data_ptr<std::int8_t>(), uniform.size()});
    network.all_reduce(codes, Reduction::sum);
    bucket.gradient.copy_(codes).mul_(scale.item<float>() / static_cast<float>(network.world_size()));
  }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    return all_reduce_traffic(4, world_size) + all_reduce_traffic(bucket.size, world_size);
  }

 private:
  Fault fault_;
  std::uint32_t step_ = 0;
};

enum class Kind { dense, top_k, ternary };

testing::MakeSynchroniser faulty(Kind kind, Fault fault) {
  return [=](const SynchroniserContext& context) -> std::unique_ptr<Synchroniser> {
    if (kind == Kind::dense) return std::make_unique<FaultyDense>(fault);
    if (kind == Kind::top_k) return std::make_unique<FaultyTopK>(fault, context);
    return std::make_unique<FaultyTernary>(fault);
  };
}

std::vector<std::string> violated(Kind kind, Fault fault) {
  std::vector<std::string> out;
  for (const auto& properties : {testing::common_properties(), testing::declared_properties()}) {
    std::ranges::move(testing::violations(properties, faulty(kind, fault), {"in_process", 3}),
                      std::back_inserter(out));
  }
  return out;
}

TEST(BrokenMethods, AreSoundWithoutTheirFault) {
  EXPECT_THAT(violated(Kind::dense, Fault::nothing), IsEmpty());
  EXPECT_THAT(violated(Kind::top_k, Fault::nothing), IsEmpty());
  EXPECT_THAT(violated(Kind::ternary, Fault::nothing), IsEmpty());
}

struct BrokenMethod {
  const char* name;
  Kind kind;
  Fault fault;
  const char* violates;
};

class EveryBrokenMethod : public ::testing::TestWithParam<BrokenMethod> {};

TEST_P(EveryBrokenMethod, IsCaught) {
  const auto& [name, kind, fault, violates] = GetParam();
  EXPECT_THAT(violated(kind, fault), Contains(StartsWith(violates)));
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryBrokenMethod,
    ::testing::Values(
        BrokenMethod{"Sum", Kind::dense, Fault::sum_instead_of_mean, "GivesTheMean"},
        BrokenMethod{"Bytes", Kind::dense, Fault::other_bytes_than_claimed, "SameBitsAndClaimedBytes"},
        BrokenMethod{"DeliveredBytes", Kind::dense, Fault::delivers_more_than_claimed,
                     "SameBitsAndClaimedBytes"},
        BrokenMethod{"RankDependentOrder", Kind::dense, Fault::own_message_first, "SameBitsAndClaimedBytes"},
        BrokenMethod{"HiddenNan", Kind::dense, Fault::hides_nan, "ANanIsSeenByAllAndForgotten"},
        BrokenMethod{"HiddenCounter", Kind::dense, Fault::counts_its_steps, "TheSameAgain"},
        BrokenMethod{"MovedPruned", Kind::dense, Fault::moves_pruned_weights, "PrunedEntriesStayZero"},
        BrokenMethod{"HiddenGather", Kind::dense, Fault::gathers_what_should_be_summed, "OnlySumsTravel"},
        BrokenMethod{"RoundsToHalf", Kind::dense, Fault::rounds_to_half, "GivesTheMean"},
        BrokenMethod{"WrongResidual", Kind::top_k, Fault::keeps_what_it_sent, "NothingIsLost"},
        BrokenMethod{"UnreportedRounding", Kind::top_k, Fault::unreported_rounding, "NothingIsLost"},
        BrokenMethod{"DroppedIndex0", Kind::top_k, Fault::drops_index_0, "NothingIsLost"},
        BrokenMethod{"SkippedStepKept", Kind::top_k, Fault::keeps_a_skipped_step,
                     "ANanIsSeenByAllAndForgotten"},
        BrokenMethod{"StateByPosition", Kind::top_k, Fault::state_by_position, "NothingIsLost"},
        BrokenMethod{"UnpromisedMomentum", Kind::top_k, Fault::adds_momentum, "NothingIsLost"},
        BrokenMethod{"KeptPruned", Kind::top_k, Fault::keeps_newly_pruned, "NewlyPrunedEntriesGoToZero"},
        BrokenMethod{"LostCheckpoint", Kind::top_k, Fault::forgets_its_state, "TheSameAgain"},
        BrokenMethod{"BiasedRounding", Kind::ternary, Fault::rounds_down, "DrawsAroundTheMean"}),
    [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace thinpipe::trainer
