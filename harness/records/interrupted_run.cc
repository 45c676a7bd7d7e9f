// SPDX-License-Identifier: Apache-2.0
#include "harness/records/interrupted_run.hh"

#include <algorithm>
#include <array>
#include <sstream>

#include <fmt/format.h>

#include "common/support/file_descriptor.hh"
#include "harness/records/record.hh"

namespace thinpipe {

namespace fs = std::filesystem;

namespace {

std::int64_t count_checkpoints(const fs::path& folder, std::int64_t iteration) {
  const std::string ending = fmt::format(".iteration-{}.pt", iteration);  // as thinpipe-trainer names them
  std::error_code missing;
  std::int64_t found = 0;
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    if (entry.path().filename().string().ends_with(ending)) ++found;
  }
  return found;
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

void add_traffic(Record& record, const Record& earlier) {
  const double earlier_s = earlier.train_time_s.value_or(0);
  const double last_s = record.train_time_s.value_or(0) - earlier_s;
  for (const auto& [direction, bytes] : earlier.traffic.wire_bytes)
    add_to(record.traffic.wire_bytes[direction], bytes);
  for (const auto& [direction, use] : earlier.traffic.utilisation) {
    const auto found = record.traffic.utilisation.find(direction);
    if (found != record.traffic.utilisation.end())
      found->second = mean(found->second, last_s, use, earlier_s);
  }
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

std::optional<InterruptedRun> find_interrupted(const fs::path& folder, const Json& provenance,
                                               std::int64_t checkpoints) {
  auto record = readable_record(folder / "run.json");
  if (!record || record->status != "interrupted" || !record->checkpoint) return std::nullopt;
  const fs::path kept = folder / interrupted_folder_name;
  if (count_checkpoints(kept, record->checkpoint->after_iteration) < checkpoints) return std::nullopt;
  if (!fs::exists(kept / iterations_file_name) || !is_of_this_program(*record, provenance))
    return std::nullopt;
  return InterruptedRun{*std::move(record)};
}

void keep_interrupted(const fs::path& folder, std::int64_t after_iteration, Record& record) {
  // At once, because a full disk must not spoil what an earlier part has kept.
  write_atomically(folder / interrupted_folder_name / iterations_file_name,
                   read_file(folder / iterations_file_name));
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

std::vector<Event> restore_iterations(const fs::path& folder) {
  const std::string text = read_file(folder / interrupted_folder_name / iterations_file_name);
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
  record.interruptions = earlier.interruptions;
  if (earlier.warnings) {
    std::vector<std::string> warnings = *earlier.warnings;
    if (record.warnings) warnings.insert(warnings.end(), record.warnings->begin(), record.warnings->end());
    record.warnings = std::move(warnings);
  }
}

}  // namespace thinpipe
