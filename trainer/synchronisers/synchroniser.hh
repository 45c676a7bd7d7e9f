// A method under test: turns every worker's local gradient into the same estimate of the mean over workers.
//
// The caller promises: the same buckets in the same order on every worker; begin_step() before a step's first
// bucket and finish_step() after its last. A method promises: the result is bit-identical on every worker;
// state is kept per parameter, never per bucket position, because the layout is rebuilt after the first step;
// and state changes only in finish_step(true), so that a step skipped for a non-finite gradient leaves it as
// it was.
#pragma once

#include "harness/support/registry.hh"
#include "trainer/bucket.hh"
#include "trainer/collectives/collective.hh"
#include "trainer/synchronisers/expected_traffic.hh"
#include "trainer/synchronisers/promises.hh"
#include "trainer/tensor_map.hh"

namespace thinpipe::trainer {

// What of the network a method may choose its exchange by.
struct NetworkShape {
  int workers = 1;
  bool sums_along_tree = false;  // sums of codes go along a tree, in as few bits as hold them
};

// What a method may know when it is made.
struct SynchroniserContext {
  std::vector<ParameterInfo> parameters;
  // kept[p]: bool [size of parameter p], true where the weight survived pruning; undefined where p is not
  // pruned.
  std::vector<torch::Tensor> kept;
  // weights[p]: the parameter itself, of whatever shape and wherever it is: it changes between steps. Empty
  // where only a plan is made.
  std::vector<torch::Tensor> weights;
  // The optimiser adds this times the weight to every entry of the result.
  double weight_decay = 0;
  std::uint64_t seed = 0;
  NetworkShape network = {};
};

// What training.clip_norm scales where gradients are synchronised.
enum class Clipping {
  result,  // as clip_grad_norm_ after DistributedDataParallel: the result stands for the mean of this step
  local,   // each worker's own gradient, before: the result has earlier steps in it, and error feedback must
           // not lose what it counts as sent
  none,    // neither means anything
};

class Synchroniser {
 public:
  Synchroniser() = default;
  virtual ~Synchroniser() = default;
  Synchroniser(const Synchroniser&) = delete;
  Synchroniser& operator=(const Synchroniser&) = delete;
  Synchroniser(Synchroniser&&) = delete;
  Synchroniser& operator=(Synchroniser&&) = delete;

  virtual Promises promises() const = 0;

  // Steps that each worker's own optimiser takes between two exchanges, at least 1; what is synchronised then
  // are the changes of the weights since the last one. Nothing: gradients are synchronised, at every step.
  virtual std::optional<std::int64_t> local_steps() const { return std::nullopt; }

  virtual Clipping clipping() const {
    const Promises promised = promises();
    const bool remembers = promised.applies_momentum || promised.estimate == Estimate::delayed;
    return remembers ? Clipping::local : Clipping::result;
  }

  // How many workers it can serve, where its integers set a limit.
  virtual std::optional<int> most_workers() const { return std::nullopt; }

  // Whether a parameter is left to the dense side bucket, as sparsifiers leave biases and normalisation
  // layers.
  virtual bool leaves_dense(const ParameterInfo& /*parameter*/) const { return false; }

  // Whether it takes buckets wherever they are, and works there; to the others they come in main memory.
  virtual bool works_on_gpus() const { return false; }

  // Whether all parameters that it does not leave dense are to lie in one bucket.
  virtual bool needs_one_bucket() const { return false; }

  // The layout to come, before the first step and after each rebuild.
  virtual void prepare(const std::vector<Bucket>& /*layout*/) {}

  // A new pruning mask, between two steps, as SynchroniserContext::kept; prepare() follows. What a method
  // keeps of entries that are pruned now must go, or it would move their weights off zero.
  virtual void adopt_masks(const std::vector<torch::Tensor>& /*kept*/) {}

  // Before begin_step(): what the optimiser will multiply the step's result by.
  virtual void set_learning_rate(double /*learning_rate*/) {}

  virtual void begin_step(std::uint64_t /*step*/) {}

  // Between steps: bucket.gradient += what this worker held back of earlier ones.
  virtual void add_held_back(Bucket& /*bucket*/) const {}

  // bucket.gradient: float32 [n], this worker's mean over its local batch, or the change of its weights where
  // there are local steps; on return, the estimate of the mean over workers. A NaN or infinity on any worker
  // gives a non-finite result on every worker.
  virtual void synchronise(Bucket& bucket, Collective& network) = 0;

  // A bucket of what it leaves dense, in its turn: on entry the mean over workers; on return what the
  // optimiser is to use, the same on every worker. One that applies momentum does so here too.
  virtual void finish_dense(Bucket& /*bucket*/, int /*world_size*/) {}

  // applied: every worker's optimiser uses the step's result (false: the step is skipped everywhere).
  virtual void finish_step(bool /*applied*/) {}

  // With local steps, after finish_step(true): bool [size of parameter p], the entries whose momentum this
  // worker's optimiser is to forget; undefined: none.
  virtual torch::Tensor forgotten_momentum(std::size_t /*parameter*/) const { return {}; }

  // The bytes of one worker's next step for one bucket, by formula: what the meter must count, or may count
  // at most where Promises::traffic_depends_on_data.
  virtual ExpectedTraffic traffic(const Bucket& bucket, int world_size) const = 0;

  // What a plan goes by: the same once a method that finds its way first has found it, or what is to be
  // expected where it depends on the data.
  virtual ExpectedTraffic settled_traffic(const Bucket& bucket, int world_size) const {
    return traffic(bucket, world_size);
  }

  // For the record: what only this method can tell of the steps so far. Null: nothing.
  virtual Json state() const { return nullptr; }

  // State for a checkpoint, under names that begin with `prefix`.
  virtual void save(TensorMap& /*state*/, const std::string& /*prefix*/) const {}
  virtual void load(const TensorMap& /*state*/, const std::string& /*prefix*/) {}
};

// {"name": "topk", "ratio": 0.01}
using SynchroniserRegistry = Registry<Synchroniser, const SynchroniserContext&>;
using SynchroniserRegistration = Registration<Synchroniser, const SynchroniserContext&>;

}  // namespace thinpipe::trainer
