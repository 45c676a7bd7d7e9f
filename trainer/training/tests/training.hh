// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of whole training runs: synthetic data, workers as threads.
#pragma once

#include <algorithm>

#include "trainer/base/process.hh"
#include "trainer/collectives/backends/in_process.hh"
#include "trainer/training/training_loop.hh"
#include "trainer/training/training_setup.hh"

namespace thinpipe::trainer::testing {

// Returns a configuration of 16 steps.
inline Json base_config(int workers) {
  return {
      {"seed", 3},
      {"workers", workers},
      {"model", {{"name", "small_cnn"}, {"width", 2}, {"hidden", 16}}},
      {"dataset",
       {{"name", "synthetic"}, {"height", 8}, {"width", 8}, {"train_examples", 192}, {"test_examples", 50}}},
      {"optimiser", {{"name", "sgd"}, {"learning_rate", 0.05}}},
      {"training",
       {{"epochs", 2}, {"batch_size_per_worker", 24 / workers}, {"evaluate_every_iterations", 4}}},
      {"buckets", {{"first_size", "1 kB"}, {"size", "4 kB"}}}};
}

inline TrainingConfig configured(int workers, const Json& changes = Json::object()) {
  Json config = base_config(workers);
  config.update(changes, true);
  return parse_training_config(config, {"test", ""});
}

struct Result {
  std::vector<Json> iterations;  // rank 0's events
  std::vector<Json> evaluations;
  std::vector<Json> starts;                                // of iterations, where they are reported
  std::vector<std::vector<event::WorkerIteration>> times;  // of each rank's iterations
  Json summary;
  Json resumed;                               // the event, if training resumed from a checkpoint
  std::vector<torch::Tensor> parameters;      // rank 0's
  std::int64_t collectives = 0;               // number of rank 0's calls in all steps
  std::optional<std::int64_t> stopped_after;  // TrainingLoop::run()
};

// Returns a worker's training data in place of the data set; null: the data set itself.
using Replacement = std::function<std::unique_ptr<Dataset>(const Dataset& dataset, int rank)>;

inline Result train(const TrainingConfig& config, const CheckpointOptions& checkpoints = {},
                    const Replacement& replace = nullptr, bool report_starts = false,
                    const Interruption& interruption = {}) {
  compute_on_one_thread();  // like workers: rounding depends on how threads divide a matrix
  const auto dataset = make_dataset(config);
  Result result;
  result.times.resize(static_cast<std::size_t>(config.workers));
  run_in_process(static_cast<int>(config.workers), [&](std::unique_ptr<Collective> member) {
    const int rank = member->rank();
    const EventSink sink = [&, rank](const Event& reported) {
      if (rank != 0) return;
      const Json event = thinpipe::to_json(reported);
      if (event["event"] == "iteration_started") result.starts.push_back(event);
      if (event["event"] == "iteration") result.iterations.push_back(event);
      if (event["event"] == "evaluation") result.evaluations.push_back(event);
      if (event["event"] == "summary") result.summary = event;
      if (event["event"] == "resumed") result.resumed = event;
    };
    const std::unique_ptr<Dataset> other = replace ? replace(*dataset, rank) : nullptr;
    TrainingLoop loop(config, other ? *other : *dataset, std::move(member), checkpoints, sink);
    loop.admit_interruption(interruption);
    loop.start();
    TimesReport times([&](const Event& reported) {
      std::ranges::copy(std::get<event::WorkerTimes>(reported).iterations,
                        std::back_inserter(result.times[static_cast<std::size_t>(rank)]));
    });
    loop.report_times(times);
    if (report_starts) loop.report_starts();
    const auto stopped_after = loop.run();
    times.flush();
    if (rank != 0) return;
    result.stopped_after = stopped_after;
    result.collectives = loop.total().collectives;
    for (const auto& parameter : loop.model().parameters()) {
      result.parameters.push_back(parameter.detach().clone());
    }
  });
  return result;
}

inline double largest_difference(const Result& a, const Result& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.parameters.size(); ++i) {
    largest = std::max(largest, (a.parameters[i] - b.parameters[i]).abs().max().item<double>());
  }
  return largest;
}

// Returns for each matrix and kernel of rank 0 which weights are zero: the pruned ones.
inline std::vector<torch::Tensor> pruned_in(const Result& result) {
  std::vector<torch::Tensor> out;
  for (const torch::Tensor& parameter : result.parameters) {
    if (parameter.dim() > 1) out.push_back(parameter.eq(0));
  }
  return out;
}

inline bool are_pruned_alike(const Result& a, const Result& b) {
  return std::ranges::equal(pruned_in(a), pruned_in(b),
                            [](const torch::Tensor& x, const torch::Tensor& y) { return x.equal(y); });
}

// Returns the iterations at whose ends an exchange was applied.
inline std::vector<int> exchanges_in(const Result& result) {
  std::vector<int> out;
  for (const Json& iteration : result.iterations) {
    if (iteration["payload_bytes"] > 0) out.push_back(iteration["iteration"]);
  }
  return out;
}

}  // namespace thinpipe::trainer::testing
