// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/model_exchange.hh"

#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "trainer/training/model_fragments.hh"
#include "trainer/training/training_setup.hh"

namespace thinpipe::trainer {
namespace {

NamedParameters some_of(const NamedParameters& parameters, const std::vector<std::size_t>& numbers) {
  NamedParameters some;
  for (const std::size_t p : numbers) some.insert(parameters[p].key(), parameters[p].value());
  return some;
}

std::string exchange_prefix(std::size_t fragment) {
  return fmt::format("fragment.{}.", fragment);
}

SynchroniserContext context_of(const TrainingConfig& config, const Model& model, const Mask& mask,
                               const MeteredCollective& collective) {
  return {
      .parameters = parameter_infos(model),
      .kept = kept_masks(model, mask),
      .weights = model.parameters(),
      .weight_decay = config.optimiser.value("weight_decay", 0.0),
      .seed = static_cast<std::uint64_t>(config.seed),
      .network = {.workers = collective.world_size(), .sums_along_tree = collective.has_sparse_all_reduce()}};
}

}  // namespace

ModelExchange::ModelExchange(const TrainingConfig& config, Model& model, const Mask& mask,
                             MeteredCollective& collective)
    : collective_(collective), parameters_(model.parameters().size()), buffers_(model) {
  const Place place = kConfigurationPlace / "synchroniser";
  const SynchroniserContext context = context_of(config, model, mask, collective);
  const auto make = [&](const SynchroniserContext& of) {
    return SynchroniserRegistry::instance().make(config.synchroniser, place, of);
  };
  auto method = make(context);
  check_workers(config, *method);
  if (!method->local_steps()) {
    exchanges_.push_back(
        std::make_unique<GradientExchange>(model, mask, std::move(method), collective, config.buckets));
    return;
  }
  const auto fragments = fragments_of(context.parameters, method->fragments().count, place / "fragments");
  for (const std::vector<std::size_t>& fragment : fragments) {
    exchanges_.push_back(std::make_unique<GradientExchange>(
        some_of(model.named_parameters(), fragment), mask,
        fragments.size() == 1 ? std::move(method) : make(part_of(context, fragment)), collective,
        config.buckets, GradientSource::changes));
  }
  rounds_.emplace(model, fragments, exchanges_);
}

void ModelExchange::before_release(const std::function<void()>& action) {
  for (const auto& exchange : exchanges_) exchange->before_release(action);
}

void ModelExchange::measure_error(const std::shared_ptr<ErrorMeter>& meter) {
  for (const auto& exchange : exchanges_) exchange->measure_error(meter);
}

void ModelExchange::record_calls(TraceRecorder& recorder) {
  std::vector<std::size_t> all(parameters_);
  std::iota(all.begin(), all.end(), 0U);
  for (std::size_t i = 0; i < exchanges_.size(); ++i) {
    exchanges_[i]->record_calls(recorder, rounds_ ? rounds_->parameters_of(i) : all);
  }
}

void ModelExchange::await_gradients() {
  for (const auto& exchange : exchanges_) exchange->await_gradients(true);
}

std::optional<double> ModelExchange::clip_gradients(double norm) {
  if (rounds_ || method().clipping() == Clipping::result) return norm;
  exchanges_.front()->clip_gradients(norm);
  return std::nullopt;
}

void ModelExchange::begin_step(torch::optim::Optimizer& optimiser, double learning_rate, bool inspect) {
  for (const auto& exchange : exchanges_) {
    exchange->inspect_gradients(inspect);
    exchange->set_learning_rate(learning_rate);
  }
  if (rounds_) {
    rounds_->begin_step(optimiser);
    return;
  }
  buffers_before_ = buffers_.copy();
  exchanges_.front()->begin_step();
}

StepReport ModelExchange::finish_step(std::int64_t iteration, std::int64_t last_iteration,
                                      torch::optim::Optimizer& optimiser,
                                      const std::function<void()>& update) {
  if (!rounds_) {
    StepReport report = exchanges_.front()->finish_step();
    if (report.applied) {
      update();
    } else if (!buffers_.are_finite()) {  // finite statistics are kept, as by PyTorch's GradScaler
      buffers_.restore(buffers_before_);
    }
    return report;
  }
  if (rounds_->admits_step()) update();
  return rounds_->end_step(iteration, last_iteration, optimiser);
}

std::vector<Durations> ModelExchange::ready(const Durations& compute) const {
  return rounds_ ? std::vector(parameters_, compute) : exchanges_.front()->ready();
}

const std::optional<std::size_t>& ModelExchange::first_non_finite() const {
  return rounds_ ? rounds_->first_non_finite() : exchanges_.front()->first_non_finite();
}

MeteredCollective& ModelExchange::idle_collective() {
  if (rounds_) rounds_->await_exchange();
  return collective_;
}

void ModelExchange::adopt_mask(const Mask& mask) {
  for (const auto& exchange : exchanges_) exchange->adopt_mask(mask);
  if (rounds_) rounds_->adopt_mask();
}

Json ModelExchange::method_state() const {
  if (exchanges_.size() == 1) return method().state();
  Json states = Json::array();
  for (const auto& exchange : exchanges_) {
    if (Json state = exchange->synchroniser().state(); !state.is_null()) states.push_back(std::move(state));
  }
  return states.empty() ? Json(nullptr) : Json{{"fragments", std::move(states)}};
}

void ModelExchange::save(TensorMap& state, torch::optim::Optimizer& optimiser) const {
  for (std::size_t i = 0; i < exchanges_.size(); ++i) exchanges_[i]->save(state, exchange_prefix(i));
  if (rounds_) rounds_->save(state, optimiser);
}

void ModelExchange::load(const TensorMap& state, const Mask& mask, torch::optim::Optimizer& optimiser) {
  for (std::size_t i = 0; i < exchanges_.size(); ++i) {
    exchanges_[i]->adopt_mask(mask);
    exchanges_[i]->load(state, exchange_prefix(i));
  }
  if (rounds_) rounds_->load(state, optimiser);
}

}  // namespace thinpipe::trainer
