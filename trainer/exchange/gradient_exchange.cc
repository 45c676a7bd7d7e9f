// SPDX-License-Identifier: Apache-2.0
#include "trainer/exchange/gradient_exchange.hh"

#include <algorithm>
#include <numeric>
#include <ranges>

#include <fmt/format.h>

#include "trainer/collectives/replica_check.hh"

namespace thinpipe::trainer {
namespace {

torch::Tensor order_tensor(const std::vector<std::size_t>& order) {
  return torch::tensor(std::vector<std::int64_t>(order.begin(), order.end()), torch::kLong);
}

TracedLayout traced(const std::vector<Bucket>& buckets, const std::vector<std::size_t>& numbers) {
  TracedLayout layout;
  for (const Bucket& bucket : buckets) {
    TracedBucket& out = layout.emplace_back();
    for (const Slice& slice : bucket.slices) out.parameters.push_back(numbers.at(slice.parameter));
  }
  return layout;
}

// Masks are applied to these bits with a bitwise and, in one pass without branches. Multiplication would turn
// infinities into NaN, and masked_fill would mispredict branches for random masks.
torch::Tensor bits_of(const torch::Tensor& floats) {
  return floats.view(torch::kInt);
}

std::vector<std::size_t> order_from(const torch::Tensor& tensor) {
  const auto* begin = tensor.data_ptr<std::int64_t>();
  return {begin, begin + tensor.numel()};
}

}  // namespace

std::vector<ParameterInfo> parameter_infos(const NamedParameters& parameters) {
  std::vector<ParameterInfo> infos;
  for (const auto& item : parameters) {
    const torch::Tensor& tensor = item.value();
    infos.push_back({.name = item.key(),
                     .size = tensor.numel(),
                     .dimensions = tensor.dim(),
                     .rows = tensor.dim() >= 2 ? tensor.size(0) : 1,
                     .shape = tensor.sizes().vec()});
  }
  return infos;
}

std::vector<ParameterInfo> parameter_infos(const torch::nn::Module& model) {
  return parameter_infos(model.named_parameters());
}

std::vector<torch::Tensor> kept_masks(const torch::nn::Module& model, const Mask& mask) {
  std::vector<torch::Tensor> kept;
  for (const auto& item : model.named_parameters()) {
    kept.push_back(mask.flat_mask_for(item.key()).value_or(torch::Tensor()));
  }
  return kept;
}

GradientExchange::GradientExchange(Model& model, const Mask& mask, std::unique_ptr<Synchroniser> synchroniser,
                                   MeteredCollective& collective, const BucketOptions& options)
    : GradientExchange(model.named_parameters(), mask, std::move(synchroniser), collective, options,
                       GradientSource::backward) {}

GradientExchange::GradientExchange(const NamedParameters& parameters, const Mask& mask,
                                   std::unique_ptr<Synchroniser> synchroniser, MeteredCollective& collective,
                                   const BucketOptions& options, GradientSource source)
    : collective_(collective),
      options_(options),
      source_(source),
      infos_(parameter_infos(parameters)),
      communication_stream_(parameters.front().value().device()),
      synchroniser_(std::move(synchroniser)),
      side_synchroniser_(SynchroniserRegistry::instance().make({{"name", "dense"}}, {}, {})),
      thread_([this](std::size_t bucket) { synchronise(bucket); }) {
  for (const auto& item : parameters) {
    const torch::Tensor& tensor = item.value();
    const std::size_t p = parameters_.size();
    Parameter parameter{.tensor = tensor};
    if (source_ == GradientSource::caller) {
      // The caller may submit in another order than that of arrival, which decides the layout.
      parameter.hook = tensor.register_hook([this, p](const torch::Tensor&) { note_arrival(p); });
    } else if (source_ == GradientSource::backward) {
      parameter.hook =
          tensor.register_hook([this, p](const torch::Tensor& gradient) { submit(p, gradient); });
    }
    parameters_.push_back(std::move(parameter));
  }
  ready_.resize(parameters_.size());
  results_.resize(parameters_.size());
  prune_gradients(mask);
  // Until the order of arrival is known: the gradient of the model's last parameter is ready first.
  std::vector<std::size_t> order(parameters_.size());
  std::iota(order.rbegin(), order.rend(), 0U);
  adopt_order(order);
}

GradientExchange::~GradientExchange() {
  for (Parameter& parameter : parameters_) {
    if (parameter.hook) parameter.tensor.remove_hook(*parameter.hook);
  }
}

void GradientExchange::adopt_mask(const Mask& mask) {
  synchroniser_->adopt_masks(prune_gradients(mask));
  synchroniser_->prepare(buckets_);
}

// Returns the mask of kept weights per parameter.
std::vector<torch::Tensor> GradientExchange::prune_gradients(const Mask& mask) {
  std::vector<torch::Tensor> kept;
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    kept.push_back(mask.flat_mask_for(infos_[p].name).value_or(torch::Tensor()));
    const bool prunes = kept[p].defined() && !kept[p].all().item<bool>();
    parameters_[p].kept = prunes ? kept[p]
                                       .to(parameters_[p].tensor.device(), torch::kInt)
                                       .neg_()
                                       .view(parameters_[p].tensor.sizes())
                                 : torch::Tensor();
  }
  return kept;
}

void GradientExchange::clear_pruned(std::size_t p, const torch::Tensor& values) const {
  const torch::Tensor& kept = parameters_[p].kept;
  if (kept.defined()) bits_of(values).bitwise_and_(kept);
}

void GradientExchange::begin_step(std::optional<std::int64_t> overlap_steps) {
  for (Parameter& parameter : parameters_) {
    // Backward then passes its own tensor instead of adding to the bucket that is being exchanged.
    if (source_ == GradientSource::backward) parameter.tensor.mutable_grad().reset();
    parameter.arrived = false;
  }
  for (std::size_t b = 0; b < buckets_.size(); ++b) missing_[b] = buckets_[b].slices.size();
  ++steps_;
  step_ = Stopwatch();
  finite_ = true;
  first_non_finite_.reset();
  section_ = {};
  synchroniser_->begin_step(steps_);
  side_synchroniser_->begin_step(steps_);
  if (recorder_ != nullptr) recorder_->begin_exchange(traced_layout_, overlap_steps);
  thread_.begin(buckets_.size());
}

void GradientExchange::submit(std::size_t p, const torch::Tensor& value) {
  const torch::NoGradGuard no_grad;
  Parameter& parameter = parameters_[p];
  if (inspects_ && !first_non_finite_ && !value.isfinite().all().item<bool>()) first_non_finite_ = p;
  collect(parameter, value);
  parameter.arrived = true;
  if (awaits_) {
    DeviceEvent there;
    there.set(value.device());
    there.wait();
  }
  ready_[p] = step_.read();
  if (source_ == GradientSource::backward) note_arrival(p);
  complete(parameter.bucket);
}

// Backward may run several times before the caller begins the first step, if gradients are accumulated.
void GradientExchange::note_arrival(std::size_t p) {
  if (steps_ > 1 || std::ranges::find(arrival_order_, p) != arrival_order_.end()) return;
  arrival_order_.push_back(p);
}

// Copies a gradient to its bucket without the pruned weights. These stay zero because their gradient is zero.
void GradientExchange::collect(Parameter& parameter, const torch::Tensor& value) const {
  constexpr bool without_waiting = true;
  if (!parameter.kept.defined()) {
    parameter.view.copy_(value, without_waiting);
    return;
  }
  torch::Tensor bits = bits_of(parameter.view);
  if (value.device() == bits.device()) {
    torch::bitwise_and_out(bits, bits_of(value), parameter.kept);
  } else {
    bits.copy_(bits_of(value).bitwise_and(parameter.kept), without_waiting);
  }
}

void GradientExchange::complete(std::size_t bucket) {
  if (--missing_[bucket] > 0) return;
  before_release_();
  collected_[bucket].set(parameters_.front().tensor.device());
  if (!max_norm_) thread_.release(bucket);
}

// Computes in double precision, so that no finite gradient has an infinite norm. NaN and infinity remain.
void GradientExchange::clip_and_release(double norm) {
  const torch::NoGradGuard no_grad;
  double squares = 0;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    collected_[b].wait();
    const torch::Tensor& gradient = buckets_[b].gradient;
    if (gradient.numel() > 0) squares += std::pow(gradient.norm(2, torch::kDouble).item<double>(), 2);
  }
  const double share = norm / (std::sqrt(squares) + 1e-6);  // as in clip_grad_norm_
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    if (!(share >= 1)) buckets_[b].gradient.mul_(share);
    collected_[b].set(parameters_.front().tensor.device());
  }
  const Durations now = step_.read();
  std::ranges::fill(ready_, now);  // no bucket could be exchanged earlier
  for (std::size_t b = 0; b < buckets_.size(); ++b) thread_.release(b);
}

void GradientExchange::synchronise(std::size_t b) {
  const torch::NoGradGuard no_grad;
  Bucket& bucket = buckets_[b];
  collected_[b].wait();
  const auto on_own_stream = communication_stream_.enter();
  // Buckets are exchanged in order, so this one is the first.
  if (b == 0) first_bucket_s_ = step_.elapsed_s();
  if (error_meter_) error_meter_->before(bucket);
  if (recorder_ != nullptr) {
    recorder_->begin_bucket(b);
    collective_.set_observer([this](CollectiveCall call) { recorder_->add(std::move(call)); });
  }
  collective_.begin_section();
  if (bucket.side) {
    side_synchroniser_->synchronise(bucket, collective_);
    synchroniser_->finish_dense(bucket, collective_.world_size());
  } else {
    synchroniser_->synchronise(bucket, collective_);
  }
  // The result is the same on every worker, and so is this decision.
  finite_ = finite_ && std::isfinite(bucket.gradient.sum().item<float>());
  section_ += collective_.end_section();
  if (b + 1 == buckets_.size() && synchroniser_->senses_network()) observe_network();
  collective_.set_observer(nullptr);
  if (error_meter_) error_meter_->after(bucket);
}

// Called for the last bucket, when all gradients have been ready.
void GradientExchange::observe_network() {
  const auto last = std::ranges::max_element(ready_, {}, &Durations::elapsed_s);
  collective_.begin_section();
  observation_ = agree_on(
      {.sent_bytes = section_.sent_bytes, .exchange_s = section_.exchange_s, .compute_s = last->elapsed_s},
      collective_);
  section_ += collective_.end_section();
}

void GradientExchange::record_calls(TraceRecorder& recorder, std::vector<std::size_t> numbers) {
  recorder_ = &recorder;
  traced_numbers_ = std::move(numbers);
  record_layout();
}

void GradientExchange::record_layout() {
  if (recorder_ != nullptr) traced_layout_ = recorder_->lay_out(traced(buckets_, traced_numbers_));
}

StepReport GradientExchange::finish_step() {
  // A parameter that the loss does not depend on has no gradient: its gradient counts as zeros.
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    if (!parameters_[p].arrived) submit(p, torch::zeros_like(parameters_[p].tensor));
  }
  const Durations collected = step_.read();
  if (max_norm_) clip_and_release(*max_norm_);
  const Durations clipping = max_norm_ ? step_.read() - collected : Durations{};
  for (const DeviceEvent& bucket : collected_)
    bucket.wait();  // a GPU's compute must not count as waiting for the network
  const Stopwatch waiting;
  thread_.drain();
  const double exposed_s = waiting.elapsed_s();
  if (recorder_ != nullptr) recorder_->finish_exchange();
  synchroniser_->finish_step(finite_);
  if (finite_ && synchroniser_->senses_network()) synchroniser_->observe(observation_);
  side_synchroniser_->finish_step(finite_);
  if (error_meter_) error_meter_->finish_step(finite_);
  hand_over_results();
  // Parameters whose gradients never arrive come last.
  const bool knows_arrivals = steps_ == 1 && source_ != GradientSource::changes;
  for (std::size_t p = 0; knows_arrivals && p < parameters_.size(); ++p) note_arrival(p);
  if (knows_arrivals) adopt_order(order_of_rank_0());
  return {.applied = finite_,
          .exposed_exchange_s = exposed_s,
          .clipping = clipping,
          .first_bucket_s = first_bucket_s_,
          .section = section_};
}

// If bucket and parameter are on the same device, the result is a view of the bucket.
void GradientExchange::hand_over_results() {
  for (const Bucket& bucket : buckets_) {
    for (const Slice& slice : bucket.slices) {
      torch::Tensor& tensor = parameters_[slice.parameter].tensor;
      const torch::Tensor result = bucket.view(slice).view(tensor.sizes()).to(tensor.device());
      (source_ == GradientSource::backward ? tensor.mutable_grad() : results_[slice.parameter]) = result;
    }
  }
}

std::vector<std::size_t> GradientExchange::order_of_rank_0() const {
  const torch::Tensor order = order_tensor(arrival_order_);
  collective_.broadcast(order, 0);
  return order_from(order);
}

// Returns the model's device if the method and the network accept buckets there, otherwise main memory.
torch::TensorOptions GradientExchange::bucket_memory() const {
  const torch::Device device = parameters_.front().tensor.device();
  if (synchroniser_->works_on_gpus() && collective_.takes(device)) return torch::TensorOptions(device);
  return main_memory_for(device);
}

// The gradients of the last step stay valid: parameter.grad() keeps the previous buckets alive.
void GradientExchange::adopt_order(const std::vector<std::size_t>& order) {
  order_ = order;
  buckets_ = lay_out_buckets(infos_, order, *synchroniser_, options_);
  missing_.assign(buckets_.size(), 0);
  collected_ = std::vector<DeviceEvent>(buckets_.size());
  for (Bucket& bucket : buckets_) {
    bucket.gradient = torch::zeros({bucket.size}, bucket_memory());
    for (const Slice& slice : bucket.slices) {
      Parameter& parameter = parameters_[slice.parameter];
      parameter.bucket = bucket.index;
      parameter.view = bucket.view(slice).view(parameter.tensor.sizes());
    }
  }
  record_layout();
  check_replicas("bucket layout", layout_hash(infos_, buckets_), collective_);
  synchroniser_->prepare(buckets_);
  side_synchroniser_->prepare(buckets_);
}

void GradientExchange::save(TensorMap& state, const std::string& prefix) const {
  state[prefix + "exchange.order"] = order_tensor(order_);
  state[prefix + "exchange.steps"] = torch::tensor({static_cast<std::int64_t>(steps_)}, torch::kLong);
  synchroniser_->save(state, prefix + "synchroniser.");
}

void GradientExchange::load(const TensorMap& state, const std::string& prefix) {
  steps_ = static_cast<std::uint64_t>(
      expect_tensor(state, prefix + "exchange.steps", torch::empty({1}, torch::kLong), "checkpoint")
          .item<std::int64_t>());
  adopt_order(
      order_from(expect_tensor(state, prefix + "exchange.order", order_tensor(order_), "checkpoint")));
  synchroniser_->load(state, prefix + "synchroniser.");
}

}  // namespace thinpipe::trainer
