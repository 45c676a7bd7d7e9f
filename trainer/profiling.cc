#include "trainer/profiling.hh"

#include <fstream>
#include <mutex>

#include "harness/support/atomic_file.hh"
#include "trainer/process.hh"
#include "trainer/worker.hh"

namespace thinpipe::trainer {
namespace {

// The first iterations make what later ones find ready; the second has a new layout of buckets.
constexpr std::int64_t warm_up_iterations = 3;

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");  // "model name\t: Intel(R) Xeon(R) …"
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

// The sum of what all workers' iterations took.
class Sums {
 public:
  void add(const StepTimes& step) {
    const std::lock_guard lock(mutex_);
    ++steps_;
    exchanges_ += step.exchanged ? 1 : 0;
    add(step, &Durations::elapsed_s, step.section.encode_s, step.section.decode_s, elapsed_);
    add(step, &Durations::processor_s, step.section.encode_processor_s, step.section.decode_processor_s,
        processor_);
  }

  ComputeTimes mean_elapsed() const { return mean(elapsed_); }
  ComputeTimes mean_processor() const { return mean(processor_); }

 private:
  static void add(const StepTimes& step, double Durations::*kind, double encode_s, double decode_s,
                  ComputeTimes& sums) {
    sums.load_s += step.load.*kind;
    sums.compute_s += step.compute.*kind;
    sums.finish_s += step.finish.*kind;
    if (!step.exchanged) return;
    sums.encode_s += encode_s;
    sums.decode_s += decode_s;
    sums.ready_s.resize(step.ready.size());
    for (std::size_t p = 0; p < step.ready.size(); ++p) sums.ready_s[p] += step.ready[p].*kind;
  }

  ComputeTimes mean(ComputeTimes sums) const {
    const auto steps = static_cast<double>(steps_);
    const auto exchanges = static_cast<double>(std::max<std::int64_t>(exchanges_, 1));
    for (double* each : {&sums.load_s, &sums.compute_s, &sums.finish_s}) *each /= steps;
    for (double* each : {&sums.encode_s, &sums.decode_s}) *each /= exchanges;
    for (double& each : sums.ready_s) each /= exchanges;
    return sums;
  }

  std::mutex mutex_;
  std::int64_t steps_ = 0;
  std::int64_t exchanges_ = 0;
  ComputeTimes elapsed_;
  ComputeTimes processor_;
};

}  // namespace

ProfileFile read_profile_file(const std::string& path) {
  const Json json = parse_json_file(path);
  JsonObject object(json, {path, ""});
  ProfileFile file;
  read_training(object, file.training);
  object.read("iterations", file.iterations, {.at_least = 1});
  object.read("output", file.output, {.required = true});
  object.finish();
  return file;
}

bool profile(const ProfileFile& file, const EventSink& events) {
  const TrainingConfig& config = file.training.config;
  Sums sums;
  const auto work = [&](int /*rank*/, TrainingLoop& loop) {
    lower_this_threads_priority();  // as workers do
    loop.take_steps(warm_up_iterations, [](const StepTimes&) {});
    loop.take_steps(file.iterations, [&sums](const StepTimes& step) { sums.add(step); });
  };
  const auto write = [&] {
    ComputeProfile profile{.elapsed = sums.mean_elapsed(), .processor = sums.mean_processor()};
    profile.device = {{"name", config.compute.device == "cpu" ? processor_name() : config.compute.device},
                      {"precision", config.compute.precision},
                      {"libraries", library_versions()}};
    profile.configuration = to_json(config);
    profile.concurrent_workers = config.workers;
    profile.iterations = file.iterations;
    write_atomically(file.output, to_json(profile).dump(2) + "\n");
  };
  return train_in_process(file.training, events, work, write);
}

}  // namespace thinpipe::trainer
