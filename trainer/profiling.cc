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
    sums_.load_s += step.load_s;
    sums_.compute_s += step.compute_s;
    sums_.finish_s += step.finish_s;
    if (!step.exchanged) return;
    ++exchanges_;
    sums_.encode_s += step.section.encode_s;
    sums_.decode_s += step.section.decode_s;
    sums_.ready_s.resize(step.ready_s.size());
    for (std::size_t p = 0; p < step.ready_s.size(); ++p) sums_.ready_s[p] += step.ready_s[p];
  }

  ComputeProfile mean() const {
    ComputeProfile mean = sums_;
    const auto steps = static_cast<double>(steps_);
    const auto exchanges = static_cast<double>(std::max<std::int64_t>(exchanges_, 1));
    for (double* each : {&mean.load_s, &mean.compute_s, &mean.finish_s}) *each /= steps;
    for (double* each : {&mean.encode_s, &mean.decode_s}) *each /= exchanges;
    for (double& each : mean.ready_s) each /= exchanges;
    return mean;
  }

 private:
  std::mutex mutex_;
  std::int64_t steps_ = 0;
  std::int64_t exchanges_ = 0;
  ComputeProfile sums_;
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
    ComputeProfile profile = sums.mean();
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
