// SPDX-License-Identifier: Apache-2.0
#include "trainer/python/extension/ddp_exchange.hh"

#include <fmt/format.h>
#include <xxhash.h>

#include "trainer/collectives/replica_check.hh"

namespace thinpipe::trainer::python {
namespace {

const Place kPlace{"ddp_hook", ""};

Mask mask_of(const std::map<std::string, torch::Tensor>& kept) {
  std::vector<Mask::Layer> layers;
  for (const auto& [name, keep] : kept) layers.push_back({name, keep.cpu().contiguous()});
  return Mask(std::move(layers));
}

void apply(const Mask& mask, const NamedParameters& parameters) {
  const torch::NoGradGuard no_grad;
  for (const Mask::Layer& layer : mask.layers()) {
    const torch::Tensor& weight = parameters[layer.name];
    weight.masked_fill_(layer.keep.logical_not().to(weight.device()), 0);
  }
}

void check_arguments(const DdpOptions& options, const Mask& mask, Collective& collective) {
  const std::string text = Json{
      {"method", options.method},
      {"buckets", options.buckets},
      {"weight_decay", options.weight_decay},
      {"seed", options.seed}}.dump();
  check_replicas("method of ddp_hook, its buckets, weight decay or seed",
                 XXH3_64bits(text.data(), text.size()), collective);
  check_replicas("pruning mask", mask.hash(), collective);
}

void check_method(const Synchroniser& method, const DdpOptions& options, int workers) {
  const auto name = options.method.at("name").get<std::string>();
  if (const auto local_steps = method.local_steps()) {
    throw InputError(
        kPlace / "method" / "name",
        fmt::format("{} exchanges changes of weights, every {} steps, which a communication hook "
                    "cannot: it sees gradients only. Use a method that synchronises gradients, or "
                    "thinpipe-trainer",
                    name, *local_steps));
  }
  if (method.shifts_evaluation()) {
    throw InputError(
        kPlace / "method",
        fmt::format(
            "{} evaluates gradients at shifted weights, which a communication hook cannot shift: it sees "
            "gradients only. Set its option that shifts them to 0 (\"detached\" of gmc), or use "
            "thinpipe-trainer",
            name));
  }
  if (method.senses_network()) {
    throw InputError(
        kPlace / "method" / "name",
        fmt::format("{} compares the time of an exchange with that of the computation, which a "
                    "communication hook cannot see: it is called first when a bucket is complete. "
                    "Use a method with a fixed ratio, or thinpipe-trainer",
                    name));
  }
  if (const auto most = method.max_workers(); most && workers > *most) {
    throw InputError(kPlace / "method" / "name",
                     fmt::format("{} sums integers that cannot hold more than {} workers, but there are {}",
                                 name, *most, workers));
  }
  if (const std::int64_t multiple_of = method.workers_multiple_of(); workers % multiple_of != 0) {
    throw InputError(kPlace / "method" / "name",
                     fmt::format("{} forms {} teams of equally many workers, but there are {} workers", name,
                                 multiple_of, workers));
  }
}

BucketOptions read_buckets(const Json& value) {
  JsonObject object(value, kPlace / "buckets");
  auto options = read_options<BucketOptions>(object);
  object.finish();
  return options;
}

std::unique_ptr<Synchroniser> make_method(const NamedParameters& parameters, const Mask& mask,
                                          const DdpOptions& options, const Collective& collective) {
  SynchroniserContext context{
      .parameters = parameter_infos(parameters),
      .kept = {},
      .weights = parameters.values(),
      .weight_decay = options.weight_decay,
      .seed = options.seed,
      .network = {.workers = collective.world_size(), .sums_along_tree = collective.has_sparse_all_reduce()}};
  for (const std::string& name : parameters.keys()) {
    context.kept.push_back(mask.flat_mask_for(name).value_or(torch::Tensor()));
  }
  auto method = SynchroniserRegistry::instance().make(options.method, kPlace / "method", context);
  check_method(*method, options, collective.world_size());
  return method;
}

}  // namespace

DdpExchange::DdpExchange(const NamedParameters& parameters, const std::map<std::string, torch::Tensor>& kept,
                         const DdpOptions& options, std::unique_ptr<Collective> collective)
    : collective_(std::move(collective)) {
  const BucketOptions buckets = read_buckets(options.buckets);
  const Mask mask = mask_of(kept);
  auto method = make_method(parameters, mask, options, collective_);
  check_arguments(options, mask, collective_.unmetered());
  apply(mask, parameters);
  for (const torch::Tensor& parameter : parameters.values()) {
    indices_.emplace(parameter.unsafeGetTensorImpl(), indices_.size());
  }
  exchange_ = std::make_unique<GradientExchange>(parameters, mask, std::move(method), collective_, buckets,
                                                 GradientSource::caller);
}

void DdpExchange::begin_step(std::optional<double> learning_rate) {
  if (in_step_) {
    throw Error(
        "begin a step: the backward pass before did not reach its last bucket, and its exchange cannot be "
        "repeated; end the program");
  }
  if (learning_rate) exchange_->set_learning_rate(*learning_rate);
  exchange_->begin_step();
  in_step_ = true;
}

void DdpExchange::submit(const std::vector<torch::Tensor>& parameters,
                         const std::vector<torch::Tensor>& gradients) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto found = indices_.find(parameters[i].unsafeGetTensorImpl());
    if (found == indices_.end()) {
      throw Error(
          "DistributedDataParallel passed a gradient of a parameter that the model did not have when ddp_hook was "
          "called");
    }
    submitted_.push_back({found->second, gradients.at(i)});
    exchange_->submit(found->second, gradients[i]);
  }
}

bool DdpExchange::finish_step() {
  const StepReport report = exchange_->finish_step();
  const torch::NoGradGuard no_grad;
  for (const auto& [parameter, gradient] : submitted_) gradient.copy_(exchange_->result(parameter));
  submitted_.clear();
  in_step_ = false;
  ++steps_;
  skipped_steps_ += report.applied ? 0 : 1;
  exposed_exchange_s_ += report.exposed_exchange_s;
  total_ += report.section;
  return report.applied;
}

Json DdpExchange::statistics() const {
  return {{"steps", steps_},
          {"skipped_steps", skipped_steps_},
          {"payload_bytes", total_.payload_bytes},
          {"sent_bytes", total_.sent_bytes},
          {"collectives", total_.collectives},
          {"encode_s", total_.encode_s},
          {"exchange_s", total_.exchange_s},
          {"decode_s", total_.decode_s},
          {"exposed_exchange_s", exposed_exchange_s_},
          {"method", exchange_->synchroniser().state()}};
}

TensorMap DdpExchange::state() const {
  TensorMap state;
  exchange_->save(state);
  return state;
}

void DdpExchange::load(const TensorMap& state) {
  exchange_->load(state);
}

}  // namespace thinpipe::trainer::python
