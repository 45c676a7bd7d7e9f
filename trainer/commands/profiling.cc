// SPDX-License-Identifier: Apache-2.0
#include "trainer/commands/profiling.hh"

#include <cmath>
#include <optional>

#include "common/protocol/machine_names.hh"
#include "common/protocol/sample_mean.hh"
#include "common/support/atomic_file.hh"

namespace thinpipe::trainer {
namespace {

// Warm-up after the first iteration, which allocates reused memory; the second has a new layout of buckets.
constexpr std::int64_t warm_up_iterations = 2;

// A machine's speed changes within seconds: a group of iterations takes longer than such a change.
constexpr std::int64_t iterations_at_a_time = 10;
constexpr std::int64_t min_iterations = 50;
constexpr double wanted_precision = 0.01;  // relative to the mean: half of its 95 % confidence interval

std::string name_of(const std::string& device) {
  return (device == "cpu" ? cpu_name() : gpu_name()).value_or(device);
}

void for_each_time(ComputeTimes& times, const auto& action) {
  for (double* each :
       {&times.load_s, &times.compute_s, &times.finish_s, &times.encode_s, &times.decode_s,
        &times.between_collectives_s, &times.overlapped_decode_s, &times.prepare_s, &times.start_s}) {
    action(*each);
  }
  for (double& each : times.ready_s) action(each);
}

double cpu_s(const StepTimes& step) {
  return step.load.cpu_s + step.compute.cpu_s + step.finish.cpu_s;
}

// Sums of the times of iterations.
class Sums {
 public:
  // Takes the first iteration, which add() must not count.
  void start(const StepTimes& step) {
    const Section& section = step.section;
    first_share_ = step.exchanged_share;
    elapsed_.start_s = step.load.elapsed_s + step.compute.elapsed_s + step.finish.elapsed_s +
                       section.encode_s + section.decode_s;
    cpu_.start_s = cpu_s(step) + step.prepare_cpu_s + section.encode_cpu_s + section.decode_cpu_s;
  }

  void add(const StepTimes& step) {
    ++steps_;
    count_change(cpu_s(step));
    exchanges_ += step.exchanged_share;
    const Section& section = step.section;
    add(step, &Durations::elapsed_s, elapsed_);
    add(step, &Durations::cpu_s, cpu_);
    cpu_.prepare_s += step.prepare_cpu_s;
    if (step.exchanged_share == 0) return;
    elapsed_.encode_s += section.encode_s;
    elapsed_.decode_s += section.decode_s;
    elapsed_.between_collectives_s += section.between_collectives_s;
    elapsed_.overlapped_decode_s += section.overlapped_decode_s;
    cpu_.encode_s += section.encode_cpu_s;
    cpu_.decode_s += section.decode_cpu_s;
    cpu_.between_collectives_s += section.between_collectives_cpu_s;
    cpu_.overlapped_decode_s += section.overlapped_decode_cpu_s;
  }

  // Sums over all workers. Collective.
  void sum_over(Collective& network) {
    std::vector<double> own;
    for_each_sum([&own](double sum) { own.push_back(sum); });
    const std::vector<std::int64_t> counts(static_cast<std::size_t>(network.world_size()), std::ssize(own));
    const torch::Tensor all = network.all_gather_v(torch::tensor(own, torch::kDouble), counts)
                                  .view({network.world_size(), -1})
                                  .sum(0);
    const double* next = all.data_ptr<double>();
    for_each_sum([&next](double& sum) { sum = *next++; });
  }

  // Returns whether any step has exchanged, which is the same on every worker.
  bool has_exchanged() const { return exchanges_ > 0; }

  ComputeTimes mean_elapsed() const { return mean(elapsed_); }
  ComputeTimes mean_cpu() const { return mean(cpu_); }

  // Returns the variation from one iteration to the next, so that slow changes of the machine's
  // speed do not count.
  double variation() const {
    const ComputeTimes means = mean_cpu();
    return std::sqrt(squared_changes_ / 2 / std::max(changes_, 1.0)) /
           (means.load_s + means.compute_s + means.finish_s);
  }

 private:
  void count_change(double cpu_s) {
    if (last_cpu_s_) {
      ++changes_;
      squared_changes_ += std::pow(cpu_s - *last_cpu_s_, 2);
    }
    last_cpu_s_ = cpu_s;
  }

  static void add(const StepTimes& step, double Durations::*kind, ComputeTimes& sums) {
    sums.load_s += step.load.*kind;
    sums.compute_s += step.compute.*kind;
    sums.finish_s += step.finish.*kind;
    sums.ready_s.resize(step.ready.size());
    for (std::size_t p = 0; p < step.ready.size(); ++p) sums.ready_s[p] += step.ready[p].*kind;
  }

  // Returns the times of a step, and those of coding for an exchange of the whole model.
  ComputeTimes mean(ComputeTimes sums) const {
    for (double* each : {&sums.load_s, &sums.compute_s, &sums.finish_s, &sums.prepare_s}) *each /= steps_;
    for (double* each :
         {&sums.encode_s, &sums.decode_s, &sums.between_collectives_s, &sums.overlapped_decode_s})
      *each /= exchanges_;
    for (double& each : sums.ready_s) each /= steps_;
    const double coding_s = first_share_ * (sums.encode_s + sums.decode_s);
    const double later_s = sums.load_s + sums.compute_s + sums.finish_s + sums.prepare_s + coding_s;
    sums.start_s = std::max(0.0, sums.start_s / workers_ - later_s);
    return sums;
  }

  void for_each_sum(const auto& action) {
    action(workers_);
    action(steps_);
    action(exchanges_);
    action(changes_);
    action(squared_changes_);
    for_each_time(elapsed_, action);
    for_each_time(cpu_, action);
  }

  double first_share_ = 1;  // of the model's entries that the first step exchanged; the same on every worker
  double workers_ = 1;
  double steps_ = 0;
  double exchanges_ = 0;  // of the whole model; that of a fragment counts as its share
  std::optional<double> last_cpu_s_;
  double changes_ = 0;
  double squared_changes_ = 0;
  ComputeTimes elapsed_;
  ComputeTimes cpu_;
};

// Returns the decision of rank 0's clock and mean, for all workers.
bool rank_0_has_enough(const SampleMean& mean, bool out_of_time, Collective& network) {
  const auto half_width = mean.half_width();
  const bool known = mean.count() * iterations_at_a_time >= min_iterations && half_width &&
                     *half_width <= wanted_precision * mean.mean();
  const torch::Tensor decision = torch::tensor({known || out_of_time ? 1 : 0}, torch::kLong);
  network.broadcast(decision, 0);
  return decision.item<std::int64_t>() == 1;
}

// Goes on until an exchange, which with local steps may be far away. Returns the number of iterations of each worker.
std::int64_t measure(TrainingLoop& loop, Sums& sums, double max_s) {
  loop.take_steps(1, [&sums](const StepTimes& step) { sums.start(step); });
  loop.take_steps(warm_up_iterations, [](const StepTimes&) {});
  SampleMean mean;  // of a group's CPU time
  const Stopwatch stopwatch;
  do {
    double together_s = 0;
    loop.take_steps(iterations_at_a_time, [&](const StepTimes& step) {
      sums.add(step);
      together_s += cpu_s(step);
    });
    mean.add(together_s);
  } while (!sums.has_exchanged() || !rank_0_has_enough(mean, stopwatch.elapsed_s() >= max_s, loop.network()));
  return mean.count() * iterations_at_a_time;
}

}  // namespace

Profiling read_profile_file(const std::string& path) {
  auto file = load_worker_file<ProfileFile>(path);
  auto config = parse_training_config(file.config, {path, "/config"});
  return {.file = std::move(file), .config = std::move(config)};
}

bool profile(const Profiling& profiling, const EventSink& events) {
  const ProfileFile& file = profiling.file;
  const TrainingConfig& config = profiling.config;
  const Worker worker{.file = {.group_options = file.group_options,
                               .log_level = file.log_level,
                               .initial_weights = file.initial_weights},
                      .config = config};
  return work(worker, events, [&](TrainingLoop& loop) -> std::optional<std::int64_t> {
    Sums sums;
    const std::int64_t iterations = measure(loop, sums, file.max_s);
    sums.sum_over(loop.network());
    if (file.group_options.rank != 0) return std::nullopt;
    ComputeProfile profile{.elapsed = sums.mean_elapsed()};
    // A GPU's backward runs in a thread of LibTorch's, whose CPU time is not measured.
    if (config.compute.device == "cpu") {
      profile.cpu = sums.mean_cpu();
      profile.variation = sums.variation();
    }
    profile.device = {{"name", name_of(config.compute.device)},
                      {"precision", config.compute.precision},
                      {"libraries", library_versions()}};
    profile.configuration = to_json(config);
    profile.concurrent_workers = config.workers;
    profile.iterations = iterations;
    write_atomically(file.output, to_json(profile).dump(2) + "\n");
    return std::nullopt;
  });
}

}  // namespace thinpipe::trainer
