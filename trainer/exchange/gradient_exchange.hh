// SPDX-License-Identifier: Apache-2.0
// Overlapped gradient synchronisation, as in PyTorch's DistributedDataParallel. While backward still runs,
// gradients are collected into buckets as they arrive. A communication thread synchronises complete buckets,
// in the same order on every worker.
//
//   exchange.begin_step();
//   loss.backward();                              // hooks collect; the communication thread exchanges
//   StepReport report = exchange.finish_step();   // waits; now parameter.grad() is the mean over workers
//   if (report.applied) optimiser.step();
//
// After the first step the buckets are laid out again, in the order in which gradients arrived at rank 0.
//
// DistributedDataParallel itself can be the caller that submits gradients: GradientSource::caller.
//
// A method with local steps (Synchroniser::local_steps) exchanges changes of weights instead:
// GradientSource::changes. An exchange then consists of begin_step(), submit() of every parameter's change, and
// finish_step(), which may come some training steps later. Several objects, each for some of the parameters, can share
// a collective if only one of them is between begin_step() and finish_step() at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "common/protocol/recorder.hh"
#include "trainer/base/device.hh"
#include "trainer/base/modules.hh"
#include "trainer/base/stopwatch.hh"
#include "trainer/collectives/metered.hh"
#include "trainer/exchange/bucket_layout.hh"
#include "trainer/exchange/communication_thread.hh"
#include "trainer/exchange/error_meter.hh"
#include "trainer/models/model.hh"
#include "trainer/pruning/mask.hh"
#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer {

struct StepReport {
  bool exchanged = true;          // false: a local step, between two exchanges
  double exchanged_share = 1;     // of the model's entries: less than 1 if it was a fragment's exchange
  bool applied = true;            // false: some worker's gradient was not finite; every worker skips the step
  std::int64_t steps = 1;         // number of steps exchanged or skipped: with local steps, all of the round
  double exposed_exchange_s = 0;  // how long the caller waited for the communication thread
  Durations clipping = {};        // of local gradients, before their exchange
  double first_bucket_s = 0;      // from begin_step() to the first bucket's last gradient
  Section section = {};           // encode, exchange and decode summed over buckets, and their bytes
};

// Who passes the gradients to submit(), and where the results go.
enum class GradientSource {
  backward,  // hooks of this object, unless the method has local steps; the results become parameter.grad()
  caller,    // the caller submits every gradient and reads result(); parameter.grad() is never touched
  changes,  // like caller, but with changes of weights: backward does not matter, and the layout stays as planned
};

using NamedParameters = torch::OrderedDict<std::string, torch::Tensor>;

// The trainable parameters of a model as a layout and a method see them, in the order of named_parameters().
std::vector<ParameterInfo> parameter_infos(const NamedParameters& parameters);
std::vector<ParameterInfo> parameter_infos(const torch::nn::Module& model);

// Returns per parameter the weights that pruning kept, bool [size]; undefined if it cannot be pruned.
std::vector<torch::Tensor> kept_masks(const torch::nn::Module& model, const Mask& mask);

class GradientExchange {
 public:
  // Starts the communication thread with the caller's priority; the caller may lower its own priority
  // afterwards. `model` and `collective` must outlive this object. Throws CollectiveError if the
  // workers' layouts differ.
  GradientExchange(Model& model, const Mask& mask, std::unique_ptr<Synchroniser> synchroniser,
                   MeteredCollective& collective, const BucketOptions& options);
  // The same for parameters that are not a Model's.
  GradientExchange(const NamedParameters& parameters, const Mask& mask,
                   std::unique_ptr<Synchroniser> synchroniser, MeteredCollective& collective,
                   const BucketOptions& options, GradientSource source);
  ~GradientExchange();
  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;
  GradientExchange(GradientExchange&&) = delete;
  GradientExchange& operator=(GradientExchange&&) = delete;

  // Sets a function that the computing thread calls each time a bucket is complete, before its release to the
  // communication thread.
  void before_release(std::function<void()> action) { before_release_ = std::move(action); }

  // Sets the factor by which the optimiser will multiply the next step's result.
  void set_learning_rate(double learning_rate) { synchroniser_->set_learning_rate(learning_rate); }

  // overlap_steps: of the exchange in the trace, see Exchange.
  void begin_step(std::optional<std::int64_t> overlap_steps = {});
  // Puts a value of parameter p into the exchange. If gradients are exchanged, backward's hooks call it.
  void submit(std::size_t p, const torch::Tensor& value);
  StepReport finish_step();

  // Except with GradientSource::backward: returns the last step's result for parameter p, in its shape and on its
  // device. It is valid until the next begin_step().
  const torch::Tensor& result(std::size_t p) const { return results_[p]; }

  // Returns, for each parameter, the time in the last step from begin_step() to its submit().
  const std::vector<Durations>& ready() const { return ready_; }

  // Sets whether the next steps check every gradient of this worker before it is synchronised, to
  // find the first that is not finite. The check costs a pass over all gradients: use it after a step
  // has been skipped.
  void inspect_gradients(bool inspect) { inspects_ = inspect; }
  // Returns the index of the parameter that first had a non-finite gradient in this step; nullopt
  // if there is none.
  const std::optional<std::size_t>& first_non_finite() const { return first_non_finite_; }

  // Scales this worker's gradient down to the Euclidean norm `norm` if it is longer. Buckets are exchanged
  // only after backward, when the norm is known. Call before the first step, on every worker.
  void clip_gradients(double norm) { max_norm_ = norm; }

  // Measures the error of each result, at the cost of a second exchange. Call before the first
  // step, on every worker.
  void measure_error(std::shared_ptr<ErrorMeter> meter) { error_meter_ = std::move(meter); }

  // Sets whether submit() waits for the gradient, so that ready() is the time when a GPU had computed it,
  // not when it was given the work. Only for measurements, because nothing overlaps on a GPU then.
  void await_gradients(bool await) { awaits_ = await; }

  // Records layouts and each bucket's calls in `recorder`, which must outlive this object. numbers: of this object's
  // parameters in the trace. Call before the first step.
  void record_calls(TraceRecorder& recorder, std::vector<std::size_t> numbers);

  // Uses a new mask from the next step on. Call between steps, on every worker. Pruned gradients are zero
  // from then on; the caller must prune weights and optimiser state, as enforce() does.
  void adopt_mask(const Mask& mask);

  // Zeroes the entries of pruned weights, whatever their values. values: float32, of parameter p's shape.
  void clear_pruned(std::size_t p, const torch::Tensor& values) const;

  const std::vector<Bucket>& layout() const { return buckets_; }
  const Synchroniser& synchroniser() const { return *synchroniser_; }

  // Save and load a checkpoint's part, under names that begin with `prefix`: the method's state, the bucket order and
  // the number of steps taken.
  void save(TensorMap& state, const std::string& prefix = {}) const;
  void load(const TensorMap& state, const std::string& prefix = {});

 private:
  struct Parameter {
    torch::Tensor tensor;
    torch::Tensor kept = {};  // int32, on its device: all bits set if kept; undefined: nothing is pruned
    std::optional<unsigned> hook = {};
    std::size_t bucket = 0;
    torch::Tensor view = {};  // float32, in the parameter's shape: its part of the bucket
    bool arrived = false;
  };

  torch::TensorOptions bucket_memory() const;
  void note_arrival(std::size_t p);
  void collect(Parameter& parameter, const torch::Tensor& value) const;
  void complete(std::size_t bucket);
  void clip_and_release(double norm);
  std::vector<torch::Tensor> prune_gradients(const Mask& mask);
  void adopt_order(const std::vector<std::size_t>& order);
  void record_layout();
  std::vector<std::size_t> order_of_rank_0() const;
  void synchronise(std::size_t bucket);
  void observe_network();
  void hand_over_results();

  MeteredCollective& collective_;
  BucketOptions options_;
  GradientSource source_;
  std::vector<ParameterInfo> infos_;
  DeviceStream communication_stream_;
  std::vector<Parameter> parameters_;
  std::unique_ptr<Synchroniser> synchroniser_;
  std::unique_ptr<Synchroniser> side_synchroniser_;
  std::shared_ptr<ErrorMeter> error_meter_;
  TraceRecorder* recorder_ = nullptr;
  std::vector<std::size_t> traced_numbers_;  // of the parameters
  std::size_t traced_layout_ = 0;            // the index of buckets_
  std::vector<Bucket> buckets_;
  std::vector<DeviceEvent> collected_;      // by bucket: its gradients have been copied
  std::vector<std::size_t> missing_;        // by bucket: number of gradients that this step still lacks
  std::vector<torch::Tensor> results_;      // by parameter, if the caller reads them
  std::vector<std::size_t> arrival_order_;  // of the first step
  std::vector<std::size_t> order_;          // the order that the layout was made from
  std::uint64_t steps_ = 0;
  std::function<void()> before_release_ = [] {};
  Stopwatch step_;  // since begin_step()
  std::vector<Durations> ready_;
  std::optional<double> max_norm_;  // norm to which a worker's gradients are clipped
  bool inspects_ = false;
  bool awaits_ = false;
  std::optional<std::size_t> first_non_finite_;
  bool finite_ = true;          // of this step; written by the communication thread until it is drained
  Section section_;             // likewise
  double first_bucket_s_ = 0;   // likewise
  Observation observation_;     // likewise; of this step, if the method senses the network
  CommunicationThread thread_;  // last, so that it is destroyed first: it uses all members above
};

}  // namespace thinpipe::trainer
