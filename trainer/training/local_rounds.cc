// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/local_rounds.hh"

#include <algorithm>
#include <numeric>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "trainer/training/checkpoint.hh"

namespace thinpipe::trainer {
namespace {

constexpr const char* optimiser_key = "rounds.optimiser";
constexpr const char* flight_key = "rounds.flight";
constexpr const char* given_key = "rounds.given";

std::string prefix_of(std::size_t fragment) {
  return fmt::format("rounds.{}.", fragment);
}

}  // namespace

LocalRounds::LocalRounds(const Model& model, std::vector<std::vector<std::size_t>> fragments,
                         const std::vector<std::unique_ptr<GradientExchange>>& exchanges)
    : numbers_(std::move(fragments)) {
  const Synchroniser& method = exchanges.front()->synchroniser();
  const FragmentSchedule schedule = method.fragments();
  interval_ = method.local_steps().value() / schedule.count;
  overlap_steps_ = schedule.overlap_steps;
  const std::vector<torch::Tensor> all = model.parameters();
  const auto entries_of = [](const std::vector<torch::Tensor>& tensors) {
    return std::accumulate(
        tensors.begin(), tensors.end(), std::int64_t{0},
        [](std::int64_t sum, const torch::Tensor& tensor) { return sum + tensor.numel(); });
  };
  const auto all_entries = static_cast<double>(entries_of(all));
  for (std::size_t f = 0; f < numbers_.size(); ++f) {
    std::vector<torch::Tensor> parameters;
    for (const std::size_t p : numbers_[f]) parameters.push_back(all.at(p));
    shares_.push_back(static_cast<double>(entries_of(parameters)) / all_entries);
    fragments_.emplace_back(std::move(parameters), FloatBuffers(model), *exchanges[f], schedule.mixing);
  }
}

void LocalRounds::begin_step(torch::optim::Optimizer& optimiser) {
  step_ = Stopwatch();
  for (Fragment& fragment : fragments_) fragment.begin_step(optimiser);
}

bool LocalRounds::admits_step() {
  bool admits = true;
  for (std::size_t f = 0; f < fragments_.size(); ++f) {
    const std::optional<std::size_t> parameter = fragments_[f].check_gradients();
    if (!parameter) continue;
    if (!first_non_finite_) first_non_finite_ = numbers_[f][*parameter];
    admits = false;
  }
  if (!admits) {
    for (Fragment& fragment : fragments_) fragment.lose_round();
  }
  return admits;
}

StepReport LocalRounds::end_step(std::int64_t iteration, std::int64_t last_iteration,
                                 torch::optim::Optimizer& optimiser) {
  if (flight_) flight_->given_s = std::max(0.0, flight_->given_s - step_.elapsed_s());
  StepReport report{.exchanged = false};
  const bool is_last = iteration == last_iteration;
  if (flight_ && (is_last || iteration == flight_->due)) report = apply(optimiser);
  if (const auto due = fragment_due(iteration, last_iteration); due && !(is_last && report.exchanged)) {
    begin_exchange(*due, iteration, last_iteration);
    if (flight_->due == iteration) report = apply(optimiser);
  }
  if (is_last) {
    for (Fragment& fragment : fragments_) fragment.drop_changes();
  }
  return report;
}

std::optional<std::size_t> LocalRounds::fragment_due(std::int64_t iteration,
                                                     std::int64_t last_iteration) const {
  if (iteration % interval_ != 0 && iteration != last_iteration) return std::nullopt;
  return static_cast<std::size_t>((iteration - 1) / interval_) % fragments_.size();
}

// An exchange never overlaps with more steps than there are.
void LocalRounds::begin_exchange(std::size_t fragment, std::int64_t iteration, std::int64_t last_iteration) {
  const std::int64_t left = last_iteration - iteration;
  const std::int64_t overlap_steps = left < 0 ? overlap_steps_ : std::min(left, overlap_steps_);
  fragments_[fragment].begin_exchange(overlap_steps);
  flight_ = {.fragment = fragment, .due = iteration + overlap_steps};
}

StepReport LocalRounds::apply(torch::optim::Optimizer& optimiser) {
  const Flight flight = *std::exchange(flight_, std::nullopt);
  Fragment& fragment = fragments_[flight.fragment];
  const Stopwatch waiting;
  if (flight.given_s > 0) std::this_thread::sleep_for(std::chrono::duration<double>(flight.given_s));
  const double made_up_s = waiting.elapsed_s();
  StepReport report = fragment.apply(optimiser);
  report.exposed_exchange_s += made_up_s;
  report.exchanged_share = shares_[flight.fragment];
  // Fragments take turns, so the exchanges of the others count the rest of the round.
  report.steps = std::min(report.steps, interval_);
  if (!fragment.has_lost()) first_non_finite_.reset();
  return report;
}

void LocalRounds::await_exchange() {
  if (flight_) flight_->given_s += fragments_[flight_->fragment].await_exchange_s();
}

void LocalRounds::adopt_mask() {
  for (Fragment& fragment : fragments_) fragment.adopt_mask();
}

bool LocalRounds::can_be_saved() {
  await_exchange();
  return std::ranges::none_of(fragments_, &Fragment::is_losing);
}

void LocalRounds::save(TensorMap& state, torch::optim::Optimizer& optimiser) const {
  for (std::size_t f = 0; f < fragments_.size(); ++f) fragments_[f].save(state, prefix_of(f));
  state[flight_key] =
      torch::tensor({flight_ ? static_cast<std::int64_t>(flight_->fragment) : -1, flight_ ? flight_->due : 0},
                    torch::kLong);
  state[given_key] = torch::tensor({flight_ ? flight_->given_s : 0.0}, torch::kDouble);
  const OptimiserSnapshot now(optimiser);
  for (const Fragment& fragment : fragments_) fragment.restore_start(optimiser);
  state[optimiser_key] = optimiser_state(optimiser);
  now.restore(optimiser);
}

void LocalRounds::load(const TensorMap& state, torch::optim::Optimizer& optimiser) {
  const OptimiserSnapshot now(optimiser);
  restore_optimiser(optimiser, state.at(optimiser_key));
  for (std::size_t f = 0; f < fragments_.size(); ++f) fragments_[f].load(state, prefix_of(f), optimiser);
  now.restore(optimiser);
  const torch::Tensor flight =
      expect_tensor(state, flight_key, torch::empty({2}, torch::kLong), "checkpoint");
  flight_.reset();
  if (const auto fragment = flight[0].item<std::int64_t>(); fragment >= 0) {
    const torch::Tensor given =
        expect_tensor(state, given_key, torch::empty({1}, torch::kDouble), "checkpoint");
    flight_ = {.fragment = static_cast<std::size_t>(fragment),
               .due = flight[1].item<std::int64_t>(),
               .given_s = given.item<double>()};
  }
}

CommonWeights::CommonWeights(const std::optional<LocalRounds>& rounds) {
  if (!rounds) return;
  for (const Fragment& fragment : rounds->fragments()) {
    for (std::size_t p = 0; p < fragment.parameters().size(); ++p) {
      torch::Tensor parameter = fragment.parameters()[p];
      own_.push_back({.parameter = parameter, .data = parameter.data()});
      parameter.set_data(fragment.start()[p]);
    }
  }
}

CommonWeights::~CommonWeights() {
  for (Own& own : own_) own.parameter.set_data(own.data);
}

}  // namespace thinpipe::trainer
