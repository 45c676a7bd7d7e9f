#include "harness/run.hh"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>

#include "harness/measurements.hh"
#include "harness/processor_time.hh"
#include "harness/provenance.hh"
#include "harness/record.hh"
#include "harness/support/file_descriptor.hh"
#include "netem/conductor.hh"
#include "netem/monitor.hh"
#include "netem/network.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

// How often the live line's link use is measured.
constexpr double link_use_period_s = 0.5;

const char* name_of(Outcome::Status status) {
  switch (status) {
    case Outcome::Status::completed:
      return "completed";
    case Outcome::Status::failed:
      return "failed";
    case Outcome::Status::interrupted:
      return "interrupted";
  }
  return "failed";
}

std::vector<Target> targets_of(const Json& config) {
  JsonObject object(config, {"configuration", ""});
  return read_targets(object);
}

class LiveRun {
 public:
  LiveRun(const Run& run, const RunContext& context)
      : run_(run),
        context_(context),
        folder_(fs::absolute(context.results / run.id)),
        peak_memory_bytes_(Json::array_t(static_cast<std::size_t>(run.workers))) {}

  Json execute() {
    provenance_ = describe_program_and_machine();
    provenance_["command_line"] = context_.command_line;
    provenance_["started_at"] = utc_now();
    Outcome outcome;
    try {
      prepare_folder();
      outcome = train();
    } catch (const std::exception& error) {
      outcome = {Outcome::Status::failed, Failure{.kind = "harness", .message = error.what()}};
    }
    provenance_["ended_at"] = utc_now();
    Json written = record(outcome);
    monitor_.reset();
    conductor_.reset();
    network_.reset();
    fs::remove_all(rendezvous());
    write_atomically(folder_ / "run.json", record_text(written));
    return written;
  }

 private:
  fs::path rendezvous() const { return folder_ / "rendezvous"; }

  // An earlier attempt's files would mislead; its record goes only when the new one replaces it.
  void prepare_folder() {
    fs::create_directories(folder_);
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().filename() != "run.json") fs::remove_all(entry.path());
    }
    fs::create_directory(rendezvous());
    iterations_ = FileDescriptor::open(folder_ / "iterations.jsonl", O_WRONLY | O_CREAT | O_TRUNC);
  }

  Outcome train() {
    auto weights = context_.weights.obtain(run_.training_config, context_.executor, context_.progress,
                                           context_.stall_timeout);
    if (auto* const untrained = std::get_if<Outcome>(&weights)) return *untrained;
    starting_weights_ = std::get<Json>(weights);
    network_.emplace(run_.topology, run_.schedule);
    conductor_.emplace(*network_, run_.schedule);
    provenance_["congestion_control"] = network_->congestion_control();
    Job job{.workers = {}, .stall_timeout = context_.stall_timeout};
    for (std::int64_t rank = 0; rank < run_.workers; ++rank) job.workers.push_back(worker(rank));
    if (run_.needs_network()) {
      monitor_.emplace(*network_);
      job.tick_period = netem::Monitor::sampling_period;
    }
    before_ = after_ = shown_ = network_->counters();
    const ProcessorTime machine_before = read_processor_time();
    Outcome outcome = context_.executor.execute(
        job, {.event = [this](std::int64_t rank, const Json& event) { hear(rank, event); },
              .tick = [this] { tick(); }});
    if (!trained_to_the_end_) after_ = network_->counters();
    if (monitor_) fidelity_ = netem::to_json(judge(machine_before));
    if (outcome.status == Outcome::Status::completed) warn_of_missed_events();
    return outcome;
  }

  netem::Fidelity judge(const ProcessorTime& machine_before) {
    std::vector<netem::Check> checks = monitor_->verdict().checks;
    checks.push_back(check_other_programs(
        share_of_others(machine_before, read_processor_time(), std::thread::hardware_concurrency())));
    return netem::judge(std::move(checks));
  }

  WorkerCommand worker(std::int64_t rank) {
    const netem::Host& host = network_->hosts().at(static_cast<std::size_t>(rank));
    const fs::path input = folder_ / fmt::format("worker-{}.json", rank);
    const Json path = starting_weights_.is_null() ? Json(nullptr) : starting_weights_.at("path");
    write_atomically(input, record_text({{"schema_version", record_schema_version},
                                         {"rank", rank},
                                         {"world_size", run_.workers},
                                         {"address", host.address},
                                         {"rendezvous_directory", rendezvous().string()},
                                         {"starting_weights", path},
                                         {"checkpoint", nullptr},
                                         {"config", run_.training_config}}));
    return {.rank = rank,
            .command = "work",
            .input = input,
            .log = folder_ / fmt::format("worker-{}.log", rank),
            .before_exec = [&host] { host.enter(); }};
  }

  void hear(std::int64_t rank, const Json& event) {
    const auto kind = event.at("event").get<std::string>();
    if (kind == "finished" && event.contains("peak_memory_bytes")) {
      peak_memory_bytes_.at(static_cast<std::size_t>(rank)) = event.at("peak_memory_bytes");
    }
    if (rank != 0) return;
    if (kind == "started") provenance_["libraries"] = event.value("libraries", Json::object());
    if (kind == "iteration" || kind == "evaluation") {
      write_all(iterations_, event.dump() + "\n", "write iterations.jsonl");
    }
    // Bytes count from the first evaluation, before which workers only meet and agree on their weights, to
    // the end of the last iteration.
    if (kind == "evaluation" && measurements_.iterations() == 0) {
      before_ = network_->counters();
      conductor_->begin(now_s());
    }
    measurements_.add(event);
    if (kind == "iteration" && event.at("iteration") == run_.plan.at("iterations")) {
      after_ = network_->counters();
      trained_to_the_end_ = true;
      trained_s_ = after_.empty() || before_.empty() ? 0 : after_.front().time_s - before_.front().time_s;
    }
    context_.progress.hear(event);
  }

  static double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  void tick() {
    if (monitor_) {
      if (conductor_->is_due(now_s())) change_network();
      monitor_->sample();
      show_link_use();
    }
    context_.progress.tick();
  }

  void change_network() {
    std::size_t changed = 0;
    try {
      monitor_->around([&] { changed = conductor_->apply_due(now_s()); });
    } catch (const std::exception& error) {
      throw Error(fmt::format("change the network during the run: {}", error.what()));
    }
    const std::vector<netem::NetworkChange>& changes = conductor_->changes();
    for (std::size_t i = changes.size() - changed; i < changes.size(); ++i) {
      Json entry = netem::to_json(changes[i]);
      entry["iteration"] = measurements_.iterations();
      entry["train_time_s"] = measurements_.train_time_s();
      changes_.push_back(std::move(entry));
    }
  }

  void warn_of_missed_events() const {
    for (const netem::NetworkChange& event : conductor_->missed()) {
      const InputError warning(
          event.place / "at",
          fmt::format("comes after the end: training took {}, so this never happened; move "
                      "it, or train longer",
                      format_duration(trained_s_)));
      context_.progress.note(fmt::format("warning: {}", warning.what()));
    }
  }

  // Every change and, with nulls, every event that did not happen.
  Json network_events() const {
    Json out = changes_;
    if (!conductor_) return out;
    for (const netem::NetworkChange& event : conductor_->missed()) {
      Json entry = netem::to_json(event);
      entry["iteration"] = entry["train_time_s"] = nullptr;
      out.push_back(std::move(entry));
    }
    return out;
  }

  void show_link_use() {
    if (shown_.empty()) return;
    const std::vector<netem::LinkCounters> now = network_->counters();
    const double elapsed_s = now.front().time_s - shown_.front().time_s;
    if (elapsed_s < link_use_period_s) return;
    double busiest = 0;
    for (std::size_t i = 0; i < now.size(); ++i) {
      const auto bits = 8 * static_cast<double>(now[i].bytes - shown_[i].bytes);
      busiest = std::max(busiest, bits / elapsed_s / now[i].rate_bit_per_s);
    }
    context_.progress.link_use(busiest);
    shown_ = now;
  }

  Json traffic() const {
    Json wire_bytes = Json::object();
    Json utilisation = Json::object();
    for (std::size_t i = 0; i < after_.size(); ++i) {
      const std::uint64_t bytes = after_[i].bytes - before_[i].bytes;
      wire_bytes[after_[i].name] = bytes;
      if (measurements_.train_time_s() > 0) {
        const double cap = conductor_->mean_rate_bit_per_s(i, before_[i].time_s, after_[i].time_s);
        utilisation[after_[i].name] =
            cap > 0 ? Json(8 * static_cast<double>(bytes) / (cap * measurements_.train_time_s()))
                    : Json(nullptr);
      }
    }
    return {{"payload_bytes_per_worker", measurements_.payload_bytes()},
            {"sent_bytes_per_worker", std::llround(measurements_.sent_bytes())},
            {"wire_bytes", wire_bytes},
            {"utilisation", utilisation}};
  }

  Json record(const Outcome& outcome) const {
    const Json& summary = measurements_.summary();
    const auto summarised = [&summary](const char* field) {
      return summary.is_object() && summary.contains(field) ? summary[field] : Json(nullptr);
    };
    return {{"schema_version", record_schema_version},
            {"run_id", run_.id},
            {"experiment", context_.experiment},
            {"label", run_.label},
            {"labels", labels_object()},
            {"status", name_of(outcome.status)},
            {"error", outcome.failure ? to_json(*outcome.failure) : Json(nullptr)},
            {"mode", run_.config.at("mode")},
            {"config", run_.config},
            {"plan", run_.plan},
            {"provenance", provenance_},
            {"limits", {{"stall_timeout_s", context_.stall_timeout.count()}}},
            {"starting_weights", starting_weights_},
            {"train_time_s", measurements_.train_time_s()},
            {"iterations", measurements_.iterations()},
            {"curve", measurements_.curve()},
            {"targets", reach_targets(measurements_.curve(), targets_of(run_.config))},
            {"iteration_time_s", measurements_.iteration_time_s()},
            {"traffic", traffic()},
            {"compression",
             {{"effective_density", summarised("effective_density")}, {"vnmse", summarised("vnmse")}}},
            {"pruning", summarised("pruning")},
            {"synchroniser", summarised("synchroniser")},
            {"skipped_steps", summarised("skipped_steps")},
            {"memory", {{"peak_bytes_per_worker", peak_memory_bytes_}}},
            {"parameters", summarised("parameters")},
            {"parameters_hash", summarised("parameters_hash")},
            {"network_events", network_events()},
            {"fidelity", fidelity_}};
  }

  Json labels_object() const {
    Json out = Json::object();
    for (const auto& [axis, label] : run_.labels) out[axis] = label;
    return out;
  }

  const Run& run_;
  const RunContext& context_;
  fs::path folder_;
  Json provenance_;
  Json starting_weights_ = nullptr;
  Json fidelity_ = nullptr;  // stays so where no network is emulated
  FileDescriptor iterations_;
  Measurements measurements_;
  std::optional<netem::Network> network_;
  std::optional<netem::Conductor> conductor_;
  std::optional<netem::Monitor> monitor_;
  Json peak_memory_bytes_;                   // by rank; null of a worker that has not finished
  Json changes_ = Json::array();             // of the network, as they are recorded
  std::vector<netem::LinkCounters> before_;  // when training began
  std::vector<netem::LinkCounters> after_;   // when it ended
  std::vector<netem::LinkCounters> shown_;   // when the link use was last shown
  bool trained_to_the_end_ = false;
  double trained_s_ = 0;  // from the first evaluation to the end of the last iteration, by the clock
};

}  // namespace

Json execute_run(const Run& run, const RunContext& context) {
  return LiveRun(run, context).execute();
}

}  // namespace thinpipe
