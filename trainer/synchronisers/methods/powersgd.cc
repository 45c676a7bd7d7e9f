// SPDX-License-Identifier: Apache-2.0
#include "common/support/options.hh"
#include "trainer/synchronisers/kept_entries.hh"
#include "trainer/synchronisers/residual.hh"
#include "trainer/synchronisers/synchroniser.hh"
#include "trainer/synchronisers/transforms/factor_layout.hh"
#include "trainer/synchronisers/transforms/low_rank.hh"

namespace thinpipe::trainer {
namespace {

struct PowerSgdOptions {
  std::int64_t rank = 4;
  std::int64_t start_step = 0;
  double min_compression = 2;

  void visit(auto& field) {
    field("rank", rank, Rule{.effect = "number of columns of a matrix's factors", .at_least = 1});
    field("start_step", start_step,
          Rule{.effect = "number of initial steps that are sent dense, while gradients change fastest",
               .at_least = 0});
    field("min_compression", min_compression,
          Rule{.effect =
                   "a matrix is sent dense unless its factors have fewer entries by more than this factor",
               .at_least = 0});
  }
};

// A step of the power method on each matrix of A×B entries, with q = min(rank, A, B) columns:
//   M = g + e;  P = orth(mean over workers of M·orth(Q));  Q' = mean over workers of Mᵀ·P
//   out = P·Q'ᵀ;  e' = M - out
// Q comes from the last step. In the first step Q is drawn from normal numbers that all workers share.
// Columns that have become zero, as after a zero gradient, are drawn again. A matrix is compressed if (A +
// B)·q·min_compression < A·B. Vogels et al., PowerSGD (NeurIPS 2019).
//
// e is the difference between the worker's own M and the mean product of all workers, not its own product;
// PyTorch's hook and the paper's code do the same. The hook also orthonormalises Q, which changes only the
// rounding. With more than two columns it uses a QR decomposition, otherwise Gram-Schmidt, which divides by 0
// or, with an epsilon, never revives a dead column. orthonormalise() and fresh numbers avoid both.
//
// The product moves pruned entries, so these are cleared in out and in e. Nothing is lost, since e' = M - out
// holds entry by entry and M is 0 there, but out no longer has rank q. LibTorch computes the products: they
// have the same bits on workers with the same CPU, number of threads and build.
//
// State: e, float32 [n], and Q. Payload 4·(Σ q(A + B) + n') bytes to two all-reduces, n' being the entries
// that are sent dense; in the first `start_step` steps 4n to one.
class PowerSgd : public Synchroniser {
 public:
  PowerSgd(const PowerSgdOptions& options, const SynchroniserContext& context)
      : start_step_(static_cast<std::uint64_t>(options.start_step)),
        parameters_(context.parameters),
        seed_(context.seed),
        factors_(context.parameters, options.rank, options.min_compression),
        residual_(context.parameters),
        kept_(context.kept),
        staged_q_(context.parameters.size()) {
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      q_.push_back(torch::zeros({factors_.form(p).columns, factors_.form(p).rank}));
    }
  }

  MethodProperties properties() const override {
    return {.estimate = Estimate::error_feedback, .all_reduce_compatible = true};
  }

  bool leaves_dense(const ParameterInfo& parameter) const override { return parameter.dimensions <= 1; }

  void begin_step(std::uint64_t step) override { step_ = step; }
  void add_residual(Bucket& bucket) const override { residual_.add_to(bucket); }

  void adopt_masks(const std::vector<torch::Tensor>& kept) override {
    residual_.drop_pruned(kept);
    kept_.adopt(kept);
  }

  void synchronise(Bucket& bucket, Collective& network) override {
    if (travels_dense(step_)) {
      average(bucket.gradient, network);
      return;
    }
    residual_.add_to(bucket);
    const torch::Tensor accumulated = bucket.gradient.clone();
    const torch::Tensor first = torch::empty({factors_.first_entries(bucket)});
    const torch::Tensor second = torch::empty({factors_.second_entries(bucket)});
    factors_.for_each_part(bucket, first, second, [&](FactoredPart& part) {
      if (part.is_dense) {
        part.first.copy_(part.matrix);
      } else {
        at::mm_out(part.first, part.matrix, start_of(part.parameter));
      }
    });
    average(first, network);
    factors_.for_each_part(bucket, first, second, [](FactoredPart& part) {
      if (part.is_dense) return;
      orthonormalise(part.first);
      at::mm_out(part.second, part.matrix.t(), part.first);
    });
    average(second, network);
    factors_.for_each_part(bucket, first, second, [&](FactoredPart& part) {
      if (part.is_dense) {
        part.matrix.copy_(part.first);
      } else {
        at::mm_out(part.matrix, part.first, part.second.t());
        staged_q_[part.parameter] = part.second.clone();
      }
    });
    kept_.clear_pruned(bucket, bucket.gradient);
    store_residual(bucket, accumulated.sub_(bucket.gradient));
  }

  void finish_step(bool applied) override {
    applied ? residual_.commit() : residual_.discard();
    for (std::size_t p = 0; p < q_.size(); ++p) {
      if (applied && staged_q_[p].defined()) q_[p] = staged_q_[p];
      staged_q_[p] = torch::Tensor();
    }
  }

  ExpectedTraffic traffic(const Bucket& bucket, int world_size) const override {
    if (travels_dense(step_ + 1)) return all_reduce_traffic(4 * bucket.size, world_size);
    return steady_state_traffic(bucket, world_size);
  }

  ExpectedTraffic steady_state_traffic(const Bucket& bucket, int world_size) const override {
    return all_reduce_traffic(4 * factors_.first_entries(bucket), world_size) +
           all_reduce_traffic(4 * factors_.second_entries(bucket), world_size);
  }

  void save(TensorMap& state, const std::string& prefix) const override {
    residual_.save(state, prefix);
    for (std::size_t p = 0; p < q_.size(); ++p) {
      if (!factors_.form(p).is_dense()) state[name_of_q(prefix, p)] = q_[p].clone();
    }
  }

  void load(const TensorMap& state, const std::string& prefix) override {
    residual_.load(state, prefix);
    for (std::size_t p = 0; p < q_.size(); ++p) {
      if (factors_.form(p).is_dense()) continue;
      q_[p] = expect_tensor(state, name_of_q(prefix, p), q_[p], "checkpoint").clone();
    }
  }

 private:
  std::string name_of_q(const std::string& prefix, std::size_t parameter) const {
    return prefix + "q." + parameters_[parameter].name;
  }

  // `step` counts from 1.
  bool travels_dense(std::uint64_t step) const { return step <= start_step_; }

  // Returns the orthonormal columns that the power method starts from; the same on all workers, because Q is.
  torch::Tensor start_of(std::size_t parameter) const {
    torch::Tensor q = q_[parameter].clone();
    fill_zero_columns(q, {.seed = seed_,
                          .step = static_cast<std::uint32_t>(step_),
                          .bucket = static_cast<std::uint32_t>(parameter),  // in any bucket layout
                          .rank = shared_rank});
    orthonormalise(q);
    return q;
  }

  // Divides first, so the sum cannot overflow unless the mean does.
  static void average(const torch::Tensor& values, Collective& network) {
    values.div_(network.world_size());
    network.all_reduce(values, Reduction::sum);
  }

  // Stages missing = M - out. For parameters that were sent dense it is zero, whatever the worker's own
  // gradient was.
  void store_residual(const Bucket& bucket, const torch::Tensor& missing) {
    for (const Slice& slice : bucket.slices) {
      if (factors_.form(slice.parameter).is_dense()) missing.narrow(0, slice.offset, slice.size).zero_();
    }
    residual_.stage(bucket, missing);
  }

  std::uint64_t start_step_;
  std::vector<ParameterInfo> parameters_;
  std::uint64_t seed_;
  FactorLayout factors_;
  Residual residual_;
  KeptEntries kept_;
  std::vector<torch::Tensor> q_;         // per parameter, float32 [columns, rank]; zero before its first step
  std::vector<torch::Tensor> staged_q_;  // the next q_; undefined if it stays
  std::uint64_t step_ = 0;
};

THINPIPE_REGISTER(Synchroniser){
    "powersgd", "matrices as thin factors, which all-reduce can sum, with error feedback",
    describe_options<PowerSgdOptions>(), [](JsonObject& object, const SynchroniserContext& context) {
      return std::make_unique<PowerSgd>(read_options<PowerSgdOptions>(object), context);
    }};

}  // namespace
}  // namespace thinpipe::trainer
