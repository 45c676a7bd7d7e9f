// SPDX-License-Identifier: Apache-2.0
#include "harness/records/interrupted_run.hh"

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>

#include <fmt/format.h>

#include "common/support/file_descriptor.hh"
#include "harness/records/record.hh"

namespace thinpipe {

namespace fs = std::filesystem;

namespace {

// Returns the files of the kept folder; empty if it is missing.
std::vector<fs::path> kept_files(const fs::path& folder) {
  std::error_code missing;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder / interrupted_folder_name, missing))
    files.push_back(entry.path());
  return files;
}

// Its name has the iteration, because a later part writes its own before the record names that part's checkpoint. If it
// dies in between, the record still has measurements that end at its checkpoint.
fs::path kept_iterations(const fs::path& folder, std::int64_t after_iteration) {
  return folder / interrupted_folder_name / fmt::format("iterations.iteration-{}.jsonl", after_iteration);
}

// Returns the iteration of a kept file: "rank-0.iteration-7.pt" of thinpipe-trainer, or the measurements until there.
// nullopt for other files.
std::optional<std::int64_t> iteration_of(const fs::path& file) {
  constexpr std::string_view mark = ".iteration-";
  const std::string name = file.filename();
  const std::size_t found = name.find(mark);
  if (found == std::string::npos) return std::nullopt;
  std::int64_t iteration = 0;
  const char* const begin = name.data() + found + mark.size();
  const auto [end, status] = std::from_chars(begin, name.data() + name.size(), iteration);
  return status == std::errc() && *end == '.' ? std::optional(iteration) : std::nullopt;
}

bool has_weights(const fs::path& file) {
  return file.extension() == ".pt";
}

bool is_of_this_program(const Record& record, const Json& provenance) {
  constexpr std::array keys = {"version", "git_commit", "dirty", "build_type"};
  return std::ranges::all_of(keys, [&](const char* key) {
    return record.provenance.value(key, Json(nullptr)) == provenance.value(key, Json(nullptr));
  });
}

std::optional<Record> readable_record(const fs::path& path) {
  try {
    return find_record(path);
  } catch (const Error&) {
    return std::nullopt;  // it is replaced by the run's next record
  }
}

template <class T>
void add_to(std::optional<T>& sum, const std::optional<T>& earlier) {
  sum = sum && earlier ? std::optional(*sum + *earlier) : std::nullopt;
}

// Returns the mean of a share over both parts.
std::optional<double> mean(const std::optional<double>& last, double last_s,
                           const std::optional<double>& earlier, double earlier_s) {
  if (!last || !earlier || last_s + earlier_s <= 0) return std::nullopt;
  return (*last * last_s + *earlier * earlier_s) / (last_s + earlier_s);
}

// Train times of both parts.
struct Durations {
  double earlier_s;
  double last_s;
};

Durations durations_of(const Record& record, const Record& earlier) {
  const double earlier_s = earlier.train_time_s.value_or(0);
  return {.earlier_s = earlier_s, .last_s = record.train_time_s.value_or(0) - earlier_s};
}

void add_cpu_pressure(Record& record, const Record& earlier) {
  if (!record.cpu_pressure || !*record.cpu_pressure) return;
  if (!earlier.cpu_pressure || !*earlier.cpu_pressure) return;
  const auto [earlier_s, last_s] = durations_of(record, earlier);
  record::CpuPressure& last = **record.cpu_pressure;
  const record::CpuPressure& first = **earlier.cpu_pressure;
  last.controller = mean(last.controller, last_s, first.controller, earlier_s);
  last.network = mean(last.network, last_s, first.network, earlier_s);
  last.machine = mean(last.machine, last_s, first.machine, earlier_s);
}

void add_traffic(Record& record, const Record& earlier) {
  const auto [earlier_s, last_s] = durations_of(record, earlier);
  for (const auto& [direction, bytes] : earlier.traffic.wire_bytes)
    add_to(record.traffic.wire_bytes[direction], bytes);
  for (const auto& [direction, use] : earlier.traffic.utilisation) {
    const auto found = record.traffic.utilisation.find(direction);
    if (found != record.traffic.utilisation.end())
      found->second = mean(found->second, last_s, use, earlier_s);
  }
}

// Both parts had connections of their own.
void add_connections(std::vector<record::Connections>& all, const std::vector<record::Connections>& earlier) {
  for (const record::Connections& before : earlier) {
    const auto found = std::ranges::find_if(all, [&](const record::Connections& each) {
      return each.from == before.from && each.to == before.to;
    });
    if (found == all.end()) {
      all.push_back(before);
      continue;
    }
    record::Connections& sum = *found;
    const auto by_bytes = [&](double record::Connections::*member) {
      const auto last = static_cast<double>(sum.acknowledged_bytes);
      const auto first = static_cast<double>(before.acknowledged_bytes);
      return last + first > 0 ? (last * sum.*member + first * before.*member) / (last + first) : sum.*member;
    };
    sum.mean_round_trip_s = by_bytes(&record::Connections::mean_round_trip_s);
    sum.mean_congestion_window_bytes = by_bytes(&record::Connections::mean_congestion_window_bytes);
    sum.mean_delivery_rate_bit_per_s = by_bytes(&record::Connections::mean_delivery_rate_bit_per_s);
    sum.connections += before.connections;
    sum.acknowledged_bytes += before.acknowledged_bytes;
    sum.retransmitted_segments += before.retransmitted_segments;
    sum.min_round_trip_s = std::min(sum.min_round_trip_s, before.min_round_trip_s);
    sum.max_round_trip_s = std::max(sum.max_round_trip_s, before.max_round_trip_s);
  }
}

// The larger delays of both parts.
void add_idle_cores(record::IdleCores& cores, const record::IdleCores& earlier) {
  cores.kept_awake = cores.kept_awake && earlier.kept_awake;
  record::Delays& delays = cores.wakeup_latency;
  delays.count += earlier.wakeup_latency.count;
  delays.median_s = std::max(delays.median_s, earlier.wakeup_latency.median_s);
  delays.p99_s = std::max(delays.p99_s, earlier.wakeup_latency.p99_s);
  delays.max_s = std::max(delays.max_s, earlier.wakeup_latency.max_s);
}

// The less the network is known to be faithful, the larger.
int doubt(const std::string& verdict) {
  constexpr std::array<std::string_view, 3> verdicts = {"faithful", "not judged", "degraded"};
  return static_cast<int>(std::ranges::find(verdicts, verdict) - verdicts.begin());
}

void add_fidelity(Record& record, const Record& earlier) {
  if (!record.fidelity || !earlier.fidelity) return;
  const std::int64_t after_iteration = earlier.checkpoint->after_iteration;
  record::Fidelity& all = *record.fidelity;
  if (doubt(earlier.fidelity->verdict) > doubt(all.verdict)) all.verdict = earlier.fidelity->verdict;
  if (all.judged_directions && earlier.fidelity->judged_directions)
    all.judged_directions = std::min(*all.judged_directions, *earlier.fidelity->judged_directions);
  std::vector<record::Check> checks = earlier.fidelity->checks;
  for (record::Check& check : checks) {
    constexpr std::string_view mark = ", before the interruption after iteration ";
    if (check.name.find(mark) == std::string::npos) check.name += fmt::format("{}{}", mark, after_iteration);
  }
  checks.insert(checks.end(), all.checks.begin(), all.checks.end());
  all.checks = std::move(checks);
}

void add_memory(record::Memory& memory, const record::Memory& earlier) {
  for (std::size_t rank = 0; rank < memory.peak_bytes_per_worker.size(); ++rank) {
    if (rank >= earlier.peak_bytes_per_worker.size()) return;
    auto& peak = memory.peak_bytes_per_worker[rank];
    peak = std::max(peak, earlier.peak_bytes_per_worker[rank]);
  }
}

}  // namespace

std::optional<InterruptedRun> find_interrupted(const fs::path& folder) {
  auto record = readable_record(folder / record_name);
  if (!record || record->status != "interrupted" || !record->checkpoint) return std::nullopt;
  return InterruptedRun{*std::move(record)};
}

std::string obstacle_to_continuing(const InterruptedRun& run, const fs::path& folder, const Json& provenance,
                                   std::int64_t checkpoints) {
  const std::int64_t found = std::ranges::count_if(kept_files(folder), [&](const fs::path& file) {
    return iteration_of(file) == run.after_iteration() && has_weights(file);
  });
  if (found < checkpoints || !fs::exists(kept_iterations(folder, run.after_iteration())))
    return "its checkpoint is incomplete";
  if (!is_of_this_program(run.record, provenance))
    return "another version of the program wrote its checkpoint";
  return {};
}

void remove_other_checkpoints(const InterruptedRun& run, const fs::path& folder) {
  for (const fs::path& file : kept_files(folder)) {
    if (iteration_of(file).value_or(run.after_iteration()) != run.after_iteration()) fs::remove(file);
  }
}

void keep_interrupted(const fs::path& folder, std::int64_t after_iteration, Record& record) {
  // At once, because a full disk must not spoil what an earlier part has kept.
  write_atomically(kept_iterations(folder, after_iteration), read_file(folder / iterations_file_name));
  record.checkpoint = {.after_iteration = after_iteration,
                       .path = (folder.filename() / interrupted_folder_name).string()};
  const auto text = [&](const char* key) { return record.provenance.value(key, std::string()); };
  const Json cpu = record.provenance.value("cpu", Json(nullptr));
  if (!record.interruptions) record.interruptions.emplace();
  record.interruptions->push_back(
      {.after_iteration = after_iteration,
       .train_time_s = record.train_time_s,
       .started_at = text("started_at"),
       .ended_at = text("ended_at"),
       .cpu = cpu.is_string() ? std::optional(cpu.get<std::string>()) : std::nullopt});
}

std::vector<Event> restore_iterations(const InterruptedRun& run, const fs::path& folder) {
  const std::string text = read_file(kept_iterations(folder, run.after_iteration()));
  write_atomically(folder / iterations_file_name, text);
  std::vector<Event> events;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) events.push_back(parse_event(Json::parse(line)));
  return events;
}

void add_earlier_parts(Record& record, const Record& earlier) {
  add_traffic(record, earlier);
  add_fidelity(record, earlier);
  add_memory(record.memory, earlier.memory);
  add_cpu_pressure(record, earlier);
  if (record.connections && earlier.connections) add_connections(*record.connections, *earlier.connections);
  if (record.idle_cores && *record.idle_cores && earlier.idle_cores && *earlier.idle_cores)
    add_idle_cores(**record.idle_cores, **earlier.idle_cores);
  record.interruptions = earlier.interruptions;
  if (earlier.warnings) {
    std::vector<std::string> warnings = *earlier.warnings;
    if (record.warnings) warnings.insert(warnings.end(), record.warnings->begin(), record.warnings->end());
    record.warnings = std::move(warnings);
  }
}

}  // namespace thinpipe
