// SPDX-License-Identifier: Apache-2.0
// The exchange of the gradients that torch's DistributedDataParallel has collected.
//
//   exchange.begin_step(learning_rate);            // before the first bucket of a step
//   exchange.submit(parameters, gradients);        // for each of DistributedDataParallel's buckets
//   bool applied = exchange.finish_step();         // after the last one: writes the results into the gradients
//
// Thinpipe's own buckets are independent of DistributedDataParallel's: those of thinpipe-trainer, with the
// same bits.
#pragma once

#include <unordered_map>

#include "trainer/exchange/gradient_exchange.hh"

namespace thinpipe::trainer::python {

struct DdpOptions {
  Json method;   // {"name": …, options…}
  Json buckets;  // {"first_size": …, "size": …}
  double weight_decay = 0;
  std::uint64_t seed = 1;
};

class DdpExchange {
 public:
  // kept: masks of pruning by parameter, bool, of the parameter's shape. Sets pruned weights to zero. Throws
  // InputError for wrong options, CollectiveError, and DivergenceError if workers have different arguments.
  DdpExchange(const NamedParameters& parameters, const std::map<std::string, torch::Tensor>& kept,
              const DdpOptions& options, std::unique_ptr<Collective> collective);

  const Synchroniser& method() const { return exchange_->synchroniser(); }

  // learning_rate: factor by which the optimiser will multiply this step's result; nullopt if not known.
  void begin_step(std::optional<double> learning_rate);
  // gradients[i]: of parameters[i], float32, in its shape. They must not change until finish_step().
  void submit(const std::vector<torch::Tensor>& parameters, const std::vector<torch::Tensor>& gradients);
  // Blocks until all workers' gradients are synchronised. Returns false if some worker's gradient was not
  // finite: no worker must use this step.
  bool finish_step();

  std::int64_t steps() const { return steps_; }
  std::int64_t payload_bytes() const { return total_.payload_bytes; }
  // Returns all counters of the steps so far; times are seconds.
  Json statistics() const;

  TensorMap state() const;
  // Collective.
  void load(const TensorMap& state);

 private:
  struct Submitted {
    std::size_t parameter = 0;
    torch::Tensor gradient;
  };

  std::unordered_map<const c10::TensorImpl*, std::size_t> indices_;
  MeteredCollective collective_;
  std::unique_ptr<GradientExchange> exchange_;
  bool in_step_ = false;
  std::vector<Submitted> submitted_;
  std::int64_t steps_ = 0;
  std::int64_t skipped_steps_ = 0;
  double exposed_exchange_s_ = 0;
  Section total_;
};

}  // namespace thinpipe::trainer::python
