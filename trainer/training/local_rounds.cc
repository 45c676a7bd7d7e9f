#include "trainer/training/local_rounds.hh"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "trainer/optimisers/state.hh"
#include "trainer/training/checkpoint.hh"

namespace thinpipe::trainer {
namespace {

std::string start_key(std::size_t parameter) {
  return fmt::format("rounds.start.{}", parameter);
}

}  // namespace

LocalRounds::LocalRounds(Model& model, GradientExchange& exchange)
    : parameters_(model.parameters()),
      exchange_(exchange),
      length_(exchange.synchroniser().local_steps().value()) {
  for (const torch::Tensor& parameter : parameters_) start_.push_back(parameter.detach().clone());
}

void LocalRounds::begin_step(torch::optim::Optimizer& optimiser) {
  if (steps_++ == 0) optimiser_start_.emplace(optimiser);
  for (torch::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
}

bool LocalRounds::admits_step() {
  const torch::NoGradGuard no_grad;
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    torch::Tensor& gradient = parameters_[p].mutable_grad();
    if (!gradient.defined()) continue;
    exchange_.clear_pruned(p, gradient);
    if (!std::isfinite(gradient.sum().item<float>())) {
      if (!lost_) first_non_finite_ = p;
      lost_ = true;
      return false;
    }
  }
  return true;
}

StepReport LocalRounds::exchange_changes(torch::optim::Optimizer& optimiser) {
  const torch::NoGradGuard no_grad;
  const Stopwatch stopwatch;
  exchange_.begin_step();
  // In reverse, the order of gradients: the layout stays as planned.
  for (std::size_t p = parameters_.size(); p-- > 0;) {
    const torch::Tensor change = parameters_[p] - start_[p];
    // The exchange spreads NaN to every worker, so that all drop the round.
    exchange_.submit(p, lost_ ? change.fill_(std::numeric_limits<float>::quiet_NaN()) : change);
  }
  StepReport report = exchange_.finish_step();
  report.exposed_exchange_s = stopwatch.elapsed_s();
  report.steps = std::exchange(steps_, 0);
  if (!report.applied && optimiser_start_) optimiser_start_->restore(optimiser);
  optimiser_start_.reset();
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    if (report.applied) {
      start_[p].add_(parameters_[p].grad());
      const torch::Tensor forgotten = exchange_.synchroniser().forgotten_momentum(p);
      if (const torch::Tensor momentum = momentum_of(optimiser, parameters_[p]);
          forgotten.defined() && momentum.defined()) {
        momentum.masked_fill_(forgotten.view(momentum.sizes()).to(momentum.device()), 0);
      }
    }
    parameters_[p].copy_(start_[p]);
  }
  if (!lost_) first_non_finite_.reset();
  lost_ = false;
  return report;
}

void LocalRounds::adopt_mask() {
  for (std::size_t p = 0; p < start_.size(); ++p) exchange_.clear_pruned(p, start_[p]);
}

void LocalRounds::save(TensorMap& state, torch::optim::Optimizer& optimiser) const {
  for (std::size_t p = 0; p < start_.size(); ++p) state[start_key(p)] = start_[p].cpu();
  state["rounds.lost"] = torch::tensor({std::int64_t{lost_ ? 1 : 0}, steps_}, torch::kLong);
  if (!optimiser_start_) return;
  const OptimiserSnapshot now(optimiser);
  optimiser_start_->restore(optimiser);
  state["rounds.optimiser"] = optimiser_state(optimiser);
  now.restore(optimiser);
}

void LocalRounds::load(const TensorMap& state, torch::optim::Optimizer& optimiser) {
  for (std::size_t p = 0; p < start_.size(); ++p) {
    start_[p].copy_(expect_tensor(state, start_key(p), start_[p], "checkpoint"));
  }
  const torch::Tensor lost =
      expect_tensor(state, "rounds.lost", torch::empty({2}, torch::kLong), "checkpoint");
  lost_ = lost[0].item<std::int64_t>() != 0;
  steps_ = lost[1].item<std::int64_t>();
  if (steps_ == 0) return;
  const OptimiserSnapshot now(optimiser);
  restore_optimiser(optimiser, state.at("rounds.optimiser"));
  optimiser_start_.emplace(optimiser);
  now.restore(optimiser);
}

}  // namespace thinpipe::trainer
