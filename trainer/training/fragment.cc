// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/fragment.hh"

#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "trainer/optimisers/state.hh"
#include "trainer/training/checkpoint.hh"

namespace thinpipe::trainer {
namespace {

std::string numbered(const std::string& prefix, const char* name, std::size_t parameter) {
  return fmt::format("{}{}.{}", prefix, name, parameter);
}

constexpr std::array section_amounts = {&Section::encode_s,
                                        &Section::exchange_s,
                                        &Section::decode_s,
                                        &Section::between_collectives_s,
                                        &Section::encode_cpu_s,
                                        &Section::between_collectives_cpu_s,
                                        &Section::decode_cpu_s,
                                        &Section::overlapped_decode_s,
                                        &Section::overlapped_decode_cpu_s,
                                        &Section::sent_bytes};
constexpr std::array section_counts = {&Section::payload_bytes, &Section::delivered_bytes,
                                       &Section::collectives};

// Returns float64, in which counts below 2^53 are exact.
torch::Tensor numbers_of(const Section& section) {
  std::vector<double> numbers;
  for (const auto member : section_amounts) numbers.push_back(section.*member);
  for (const auto member : section_counts) numbers.push_back(static_cast<double>(section.*member));
  return torch::tensor(numbers, torch::kDouble);
}

Section section_of(const TensorMap& state, const std::string& name) {
  const auto size = static_cast<std::int64_t>(section_amounts.size() + section_counts.size());
  const torch::Tensor saved = expect_tensor(state, name, torch::empty({size}, torch::kDouble), "checkpoint");
  Section section;
  std::int64_t i = 0;
  for (const auto member : section_amounts) section.*member = saved[i++].item<double>();
  for (const auto member : section_counts)
    section.*member = static_cast<std::int64_t>(saved[i++].item<double>());
  return section;
}

}  // namespace

Fragment::Fragment(std::vector<torch::Tensor> parameters, FloatBuffers buffers, GradientExchange& exchange,
                   double mixing)
    : parameters_(std::move(parameters)), buffers_(std::move(buffers)), exchange_(exchange), mixing_(mixing) {
  for (const torch::Tensor& parameter : parameters_) start_.push_back(parameter.detach().clone());
}

void Fragment::begin_step(torch::optim::Optimizer& optimiser) {
  if (round_.steps++ == 0) {
    round_.optimiser.emplace(optimiser, parameters_);
    round_.buffers = buffers_.copy();
  }
  for (torch::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
}

std::optional<std::size_t> Fragment::check_gradients() {
  const torch::NoGradGuard no_grad;
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    const torch::Tensor& gradient = parameters_[p].grad();
    if (!gradient.defined()) continue;
    exchange_.clear_pruned(p, gradient);
    if (!std::isfinite(gradient.sum().item<float>())) return p;
  }
  return std::nullopt;
}

void Fragment::begin_exchange(std::int64_t overlap_steps) {
  const torch::NoGradGuard no_grad;
  flight_.emplace(Flight{.round = std::exchange(round_, {})});
  exchange_.begin_step(overlap_steps);
  for (std::size_t p = parameters_.size(); p-- > 0;) {
    const torch::Tensor change = parameters_[p] - start_[p];
    // The exchange spreads NaN to every worker, so that all drop the round.
    exchange_.submit(p,
                     flight_->round.is_lost ? change.fill_(std::numeric_limits<float>::quiet_NaN()) : change);
  }
}

double Fragment::await_exchange_s() {
  if (!flight_ || flight_->report) return 0;
  const Stopwatch waiting;
  flight_->report = exchange_.finish_step();
  flight_->report->steps = flight_->round.steps;
  for (std::size_t p = 0; p < parameters_.size(); ++p) flight_->results.push_back(exchange_.result(p));
  return waiting.elapsed_s();
}

StepReport Fragment::apply(torch::optim::Optimizer& optimiser) {
  const torch::NoGradGuard no_grad;
  if (flight_->report) {
    flight_->report->exposed_exchange_s = 0;  // it has been awaited outside of the train time
  } else {
    await_exchange_s();
  }
  const Flight flight = *std::exchange(flight_, std::nullopt);
  has_lost_ = flight.round.is_lost;
  if (!flight.report->applied) {
    if (flight.round.optimiser) {
      flight.round.optimiser->restore(optimiser);
      buffers_.restore(flight.round.buffers);
    }
    clear_pruned_state(optimiser);
    round_ = {};
    drop_changes();
    return *flight.report;
  }
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    start_[p].add_(flight.results[p]);
    const torch::Tensor forgotten = exchange_.synchroniser().forgotten_momentum(p);
    if (const torch::Tensor momentum = momentum_of(optimiser, parameters_[p]);
        forgotten.defined() && momentum.defined()) {
      momentum.masked_fill_(forgotten.view(momentum.sizes()).to(momentum.device()), 0);
    }
    if (mixing_ == 0) {
      parameters_[p].copy_(start_[p]);
    } else {
      parameters_[p].mul_(mixing_).add_(start_[p], 1 - mixing_);
    }
  }
  return *flight.report;
}

// Weights may have been pruned since the state was saved.
void Fragment::clear_pruned_state(torch::optim::Optimizer& optimiser) const {
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    for (const torch::Tensor& state :
         state_tensors(optimiser, parameters_[p], fmt::format("parameter {}", p)))
      exchange_.clear_pruned(p, state);
  }
}

void Fragment::drop_changes() {
  const torch::NoGradGuard no_grad;
  for (std::size_t p = 0; p < parameters_.size(); ++p) parameters_[p].copy_(start_[p]);
}

void Fragment::adopt_mask() {
  for (std::size_t p = 0; p < start_.size(); ++p) {
    exchange_.clear_pruned(p, start_[p]);
    if (flight_) exchange_.clear_pruned(p, flight_->results[p]);
  }
}

void Fragment::save(TensorMap& state, const std::string& prefix) const {
  state[prefix + "round"] =
      torch::tensor({std::int64_t{round_.is_lost}, round_.steps, std::int64_t{flight_.has_value()},
                     flight_ ? flight_->round.steps : 0},
                    torch::kLong);
  if (flight_) state[prefix + "section"] = numbers_of(flight_->report->section);
  for (std::size_t b = 0; b < round_.buffers.size(); ++b)
    state[numbered(prefix, "buffer", b)] = round_.buffers[b].cpu();
  for (std::size_t p = 0; p < start_.size(); ++p) {
    state[numbered(prefix, "start", p)] = start_[p].cpu();
    if (flight_) state[numbered(prefix, "result", p)] = flight_->results[p].cpu();
  }
}

void Fragment::load(const TensorMap& state, const std::string& prefix, torch::optim::Optimizer& optimiser) {
  const torch::Tensor saved =
      expect_tensor(state, prefix + "round", torch::empty({4}, torch::kLong), "checkpoint");
  const auto number = [&saved](std::int64_t i) { return saved[i].item<std::int64_t>(); };
  round_ = {.steps = number(1), .is_lost = number(0) != 0};
  if (round_.steps > 0) {
    round_.optimiser.emplace(optimiser, parameters_);
    round_.buffers = buffers_.copy();
    for (std::size_t b = 0; b < round_.buffers.size(); ++b) {
      torch::Tensor& buffer = round_.buffers[b];
      buffer.copy_(expect_tensor(state, numbered(prefix, "buffer", b), buffer, "checkpoint"));
    }
  }
  flight_.reset();
  if (number(2) != 0) {
    flight_.emplace(Flight{.round = {.steps = number(3)}});
    flight_->report = StepReport{.steps = number(3), .section = section_of(state, prefix + "section")};
  }
  for (std::size_t p = 0; p < start_.size(); ++p) {
    start_[p].copy_(expect_tensor(state, numbered(prefix, "start", p), start_[p], "checkpoint"));
    if (!flight_) continue;
    flight_->results.push_back(
        expect_tensor(state, numbered(prefix, "result", p), start_[p], "checkpoint").to(start_[p].device()));
  }
}

void Fragment::restore_start(torch::optim::Optimizer& optimiser) const {
  if (round_.optimiser) round_.optimiser->restore(optimiser);
}

}  // namespace thinpipe::trainer
