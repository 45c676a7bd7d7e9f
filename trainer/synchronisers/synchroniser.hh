// SPDX-License-Identifier: Apache-2.0
// A method under test: turns every worker's local gradient into the same estimate of the mean over workers.
//
// The caller guarantees the same buckets in the same order on every worker, begin_step() before a step's
// first bucket, and finish_step() after its last.
//
// A method guarantees that:
// - the result is bit-identical on every worker;
// - state is kept per parameter, not per bucket position, because the layout is rebuilt after the first step;
// - state changes only in finish_step(true), so a step skipped for a non-finite gradient leaves it unchanged.
#pragma once

#include "common/support/registry.hh"
#include "trainer/base/bucket.hh"
#include "trainer/base/tensor_map.hh"
#include "trainer/collectives/collective.hh"
#include "trainer/synchronisers/expected_traffic.hh"
#include "trainer/synchronisers/method_properties.hh"
#include "trainer/synchronisers/observation.hh"

namespace thinpipe::trainer {

// The properties of the network that a method may choose its exchange by.
struct NetworkShape {
  int workers = 1;
  // Code sums follow a reduction tree, with as few bits per code as hold the sum.
  bool sums_along_tree = false;
};

// The data available to a method when it is created.
struct SynchroniserContext {
  std::vector<ParameterInfo> parameters;
  // kept[p]: bool [size of parameter p], true if the weight survived pruning; undefined if p is not pruned.
  std::vector<torch::Tensor> kept;
  // weights[p]: the parameter itself, of any shape and on any device; it changes between steps, and within
  // them if shifts_evaluation(). Empty in a plan.
  std::vector<torch::Tensor> weights;
  // The optimiser adds weight_decay times the weight to every entry of the result.
  double weight_decay = 0;
  std::uint64_t seed = 0;
  NetworkShape network = {};
};

// The tensor that training.clip_norm scales when gradients are synchronised.
enum class Clipping {
  // The result, like clip_grad_norm_ after DistributedDataParallel: the result is the mean of this step.
  result,
  // Each worker's own gradient, before synchronisation: the result contains earlier steps, and clipping it
  // would lose gradient that error feedback counts as sent.
  local,
  // Neither: scaling means nothing to the method, and training.clip_norm is refused.
  none,
};

// How a method with local steps spreads its exchanges over a round. The model is divided into `count` fragments,
// which take turns: the next one's exchange begins every local_steps() / count steps.
struct FragmentSchedule {
  std::int64_t count = 1;  // divides local_steps()
  // The result is applied at the end of the step that comes this many steps after the one at whose end the exchange
  // began; at most local_steps() / count.
  std::int64_t overlap_steps = 0;
  // Share of its own weights that a worker keeps when it applies the result: W_w = α·W_w + (1 - α)·W0.
  double mixing = 0;
};

class Synchroniser {
 public:
  Synchroniser() = default;
  virtual ~Synchroniser() = default;
  Synchroniser(const Synchroniser&) = delete;
  Synchroniser& operator=(const Synchroniser&) = delete;
  Synchroniser(Synchroniser&&) = delete;
  Synchroniser& operator=(Synchroniser&&) = delete;

  virtual MethodProperties properties() const = 0;

  // Returns the number of steps that each worker's own optimiser takes between two exchanges, at least 1. The
  // changes of the weights since the last exchange are then synchronised. Returns nullopt if gradients are
  // synchronised in every step.
  virtual std::optional<std::int64_t> local_steps() const { return std::nullopt; }

  // With local steps: each fragment has an object of its own for its parameters.
  virtual FragmentSchedule fragments() const { return {}; }

  virtual Clipping clipping() const {
    const MethodProperties declared = properties();
    const bool remembers = declared.applies_momentum || declared.estimate == Estimate::error_feedback;
    return remembers ? Clipping::local : Clipping::result;
  }

  // Returns the largest number of workers that the method's integers allow; nullopt if there is no limit.
  virtual std::optional<int> max_workers() const { return std::nullopt; }

  // Returns the number that the number of workers must be a multiple of.
  virtual std::int64_t workers_multiple_of() const { return 1; }

  // Returns whether a parameter goes to the dense side bucket. Sparsifiers do this with biases and
  // normalisation layers.
  virtual bool leaves_dense(const ParameterInfo& /*parameter*/) const { return false; }

  // Returns whether the method works on buckets on any device; otherwise they are passed in main memory.
  virtual bool works_on_gpus() const { return false; }

  // Returns whether all parameters that are not left dense must be in one bucket.
  virtual bool needs_one_bucket() const { return false; }

  // Announces the bucket layout, before the first step and after each rebuild.
  virtual void prepare(const std::vector<Bucket>& /*layout*/) {}

  // Announces a new pruning mask between two steps, like SynchroniserContext::kept; prepare() follows. The
  // method must drop the state of entries that are now pruned, or it would move their weights off zero.
  virtual void adopt_masks(const std::vector<torch::Tensor>& /*kept*/) {}

  // Sets the factor that the optimiser will multiply the step's result by. Called before begin_step().
  virtual void set_learning_rate(double /*learning_rate*/) {}

  // Returns whether the result depends on that factor.
  virtual bool uses_learning_rate() const { return false; }

  virtual void begin_step(std::uint64_t /*step*/) {}

  // Returns whether this worker's gradient must be evaluated at weights other than the model's. A method with
  // local steps does not.
  virtual bool shifts_evaluation() const { return false; }

  // If shifts_evaluation(), after begin_step(): returns what must be added to parameter p for the forward and
  // backward pass of this step, float32 [size of parameter p] in main memory. The shifts may differ between
  // workers. The caller restores the weights, bit for bit, after backward. Buckets are synchronised before
  // that, so the method must copy the weights that it needs in begin_step().
  virtual torch::Tensor evaluation_shift(std::size_t /*parameter*/) const { return {}; }

  // Adds this worker's residual to bucket.gradient. Called between steps.
  virtual void add_residual(Bucket& /*bucket*/) const {}

  // Replaces bucket.gradient, float32 [n], by the estimate of its mean over workers. On entry it is this
  // worker's mean over its local batch or, with local steps, the change of its weights. A NaN or infinity on
  // any worker gives a non-finite result on every worker.
  virtual void synchronise(Bucket& bucket, Collective& network) = 0;

  // Finishes a dense side bucket. On entry bucket.gradient is the mean over workers; on return it is the
  // optimiser's input, the same on every worker. A method that applies momentum does so here too.
  virtual void finish_dense(Bucket& /*bucket*/, int /*world_size*/) {}

  // Ends a step. `applied`: every worker's optimiser uses the step's result; if false, every worker skips the
  // step.
  virtual void finish_step(bool /*applied*/) {}

  // Returns whether observe() is called. The method then depends on the network that it meets, and can neither converge
  // without one nor be replayed over another. A method with local steps does not sense the network.
  virtual bool senses_network() const { return false; }

  // After finish_step(true), if senses_network(): what the step's exchange took, the same on every worker.
  virtual void observe(const Observation& /*step*/) {}

  // With local steps, after finish_step(true): returns bool [size of parameter p], the entries whose momentum
  // this worker's optimiser must clear; undefined if there are none.
  virtual torch::Tensor forgotten_momentum(std::size_t /*parameter*/) const { return {}; }

  // Returns the bytes of one worker's next step for one bucket, by formula. The meter must count exactly
  // these or, if MethodProperties::traffic_depends_on_data, at most these.
  virtual ExpectedTraffic traffic(const Bucket& bucket, int world_size) const = 0;

  // Steady-state traffic, for `thinpipe plan`: after any warm-up; the expected value if traffic depends on
  // the data.
  virtual ExpectedTraffic steady_state_traffic(const Bucket& bucket, int world_size) const {
    return traffic(bucket, world_size);
  }

  // Returns method-specific counters of the steps so far, for the record; null if there are none.
  virtual Json state() const { return nullptr; }

  // Saves and restores the state in a checkpoint, under names that begin with `prefix`.
  virtual void save(TensorMap& /*state*/, const std::string& /*prefix*/) const {}
  virtual void load(const TensorMap& /*state*/, const std::string& /*prefix*/) {}
};

// {"name": "topk", "ratio": 0.01}
using SynchroniserRegistry = Registry<Synchroniser, const SynchroniserContext&>;
using SynchroniserRegistration = Registration<Synchroniser, const SynchroniserContext&>;

}  // namespace thinpipe::trainer
