// Overlapped gradient synchronisation, as in PyTorch's DistributedDataParallel: while backward still runs,
// gradients are collected into buckets as they arrive, and a communication thread synchronises the buckets
// that are complete, in the same order on every worker.
//
//   exchange.begin_step();
//   loss.backward();                         // hooks collect; the communication thread exchanges
//   StepReport report = exchange.finish_step();   // waits; from now on parameter.grad() is the mean over
//   workers if (report.applied) optimiser.step();
//
// Where a method exchanges changes of weights (Synchroniser::local_steps), nothing is collected from
// backward: begin_step(), hand_over() of every parameter's change, finish_step() make an exchange.
//
// After the first step the buckets are laid out anew in the order in which gradients arrived at rank 0.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "harness/replay/recorder.hh"
#include "trainer/bucket_layout.hh"
#include "trainer/collectives/metered.hh"
#include "trainer/communication_thread.hh"
#include "trainer/device.hh"
#include "trainer/error_meter.hh"
#include "trainer/models/model.hh"
#include "trainer/modules.hh"
#include "trainer/pruning/mask.hh"
#include "trainer/stopwatch.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {

struct StepReport {
  bool exchanged = true;          // false: a local step, between two exchanges
  bool applied = true;            // false: some worker's gradient was not finite; every worker skips the step
  std::int64_t steps = 1;         // that were exchanged, or are skipped: with local steps all of a round
  double exposed_exchange_s = 0;  // how long finish_step() waited
  double first_bucket_s = 0;      // from begin_step() to the first bucket's last gradient
  Section section = {};           // encode, exchange and decode summed over buckets, and their bytes
};

// The trainable parameters of a model as a layout and a method see them, in the order of named_parameters().
std::vector<ParameterInfo> parameter_infos(const torch::nn::Module& model);

// Per parameter, bool [size] of the weights that pruning kept; undefined where nothing of it can be pruned.
std::vector<torch::Tensor> kept_masks(const torch::nn::Module& model, const Mask& mask);

class GradientExchange {
 public:
  // Starts the communication thread with the caller's priority; the caller may lower its own afterwards.
  // `model` and `collective` must outlive this. Throws CollectiveError when the workers' layouts differ.
  GradientExchange(Model& model, const Mask& mask, std::unique_ptr<Synchroniser> synchroniser,
                   MeteredCollective& collective, const BucketOptions& options);
  ~GradientExchange();
  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;
  GradientExchange(GradientExchange&&) = delete;
  GradientExchange& operator=(GradientExchange&&) = delete;

  // Called on the computing thread each time a bucket is complete, before it is handed to communication.
  void before_release(std::function<void()> action) { before_release_ = std::move(action); }

  // What the optimiser will multiply the result of the step to come by.
  void set_learning_rate(double learning_rate) { synchroniser_->set_learning_rate(learning_rate); }

  void begin_step();
  // What parameter p puts into the exchange; backward's hooks do it where gradients are exchanged.
  void hand_over(std::size_t p, const torch::Tensor& value);
  StepReport finish_step();

  // Of the last step, per parameter: from begin_step() until it was handed over.
  const std::vector<Durations>& ready() const { return ready_; }

  // Whether coming steps look into every gradient of this worker before it is synchronised, to find out which
  // one is not finite: for when a step has been skipped, because it costs a pass over all of them.
  void inspect_gradients(bool inspect) { inspects_ = inspect; }
  // The parameter, as an index, whose gradient was the first this step found not finite; nothing if none was.
  const std::optional<std::size_t>& first_non_finite() const { return first_non_finite_; }

  // Before the first step, on every worker: scales this worker's gradient down to a Euclidean norm where it
  // is longer. No bucket is exchanged until that is known, which is after backward.
  void clip_gradients(double norm) { longest_ = norm; }

  // Before the first step, on every worker: measures the error of each result, which takes an exchange more.
  void measure_error() { error_meter_.emplace(collective_.unmetered()); }
  // So far; nothing where it is not measured.
  std::optional<double> vnmse() const { return error_meter_ ? error_meter_->vnmse() : std::nullopt; }

  // Whether gradients are waited for as they are handed over, so that ready() says when a GPU had them and
  // not when it was given the work: for when that is measured, because nothing overlaps on a GPU then.
  void await_gradients(bool await) { awaits_ = await; }

  // Before the first step: tells `recorder`, which must outlive this, of layouts and of each bucket's calls.
  void record_calls(TraceRecorder& recorder);

  // A new mask, from the next step on: between steps, on every worker alike. Pruned gradients are zero from
  // then on; weights and optimiser are the caller's to bring in line, as enforce() does.
  void adopt_mask(const Mask& mask);

  // float32, of parameter p's shape: zero where pruning took a weight, whatever stood there.
  void clear_pruned(std::size_t p, const torch::Tensor& values) const;

  const std::vector<Bucket>& layout() const { return buckets_; }
  const Synchroniser& synchroniser() const { return *synchroniser_; }

  // For checkpoints: the method's state, the bucket order and the number of steps taken.
  void save(TensorMap& state) const;
  void load(const TensorMap& state);

 private:
  struct Parameter {
    torch::Tensor tensor;
    torch::Tensor kept = {};  // int32, beside it: all bits of what pruning kept; undefined: it kept all
    std::optional<unsigned> hook = {};
    std::size_t bucket = 0;
    torch::Tensor view = {};  // float32, the parameter's shape, into its bucket
    bool arrived = false;
  };

  torch::TensorOptions bucket_memory() const;
  void collect(Parameter& parameter, const torch::Tensor& value) const;
  void complete(std::size_t bucket);
  void clip_and_release(double norm);
  std::vector<torch::Tensor> prune_gradients(const Mask& mask);
  void adopt_order(const std::vector<std::size_t>& order);
  std::vector<std::size_t> order_of_rank_0() const;
  void synchronise(std::size_t bucket);
  void give_back();

  MeteredCollective& collective_;
  BucketOptions options_;
  std::vector<ParameterInfo> infos_;
  DeviceQueue communication_queue_;
  std::vector<Parameter> parameters_;
  std::unique_ptr<Synchroniser> synchroniser_;
  std::unique_ptr<Synchroniser> side_synchroniser_;
  std::optional<ErrorMeter> error_meter_;
  TraceRecorder* recorder_ = nullptr;
  std::vector<Bucket> buckets_;
  std::vector<DeviceMark> collected_;       // per bucket: once passed, its gradients are in it
  std::vector<std::size_t> missing_;        // per bucket, gradients still to come this step
  std::vector<std::size_t> arrival_order_;  // of the first step
  std::vector<std::size_t> order_;          // what the layout was made from
  std::uint64_t steps_ = 0;
  std::function<void()> before_release_ = [] {};
  Stopwatch step_;  // since begin_step()
  std::vector<Durations> ready_;
  std::optional<double> longest_;  // gradients of a worker are clipped to it
  bool inspects_ = false;
  bool awaits_ = false;
  std::optional<std::size_t> first_non_finite_;
  bool finite_ = true;          // of this step; written by the communication thread until it is drained
  Section section_;             // likewise
  double first_bucket_s_ = 0;   // likewise
  CommunicationThread thread_;  // last: it uses all of the above, so it must go first
};

}  // namespace thinpipe::trainer
