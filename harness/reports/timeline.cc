// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/timeline.hh"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>

#include "harness/reports/json_lines.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

constexpr double us_per_s = 1e6;
constexpr int worker_process = 1;
constexpr int links_process = 2;
constexpr int workers_process = 3;

enum Track { iteration_track = 1, compute_track, exchange_track, wait_track };

Json name_of_process(int process, const char* name) {
  return {{"ph", "M"}, {"name", "process_name"}, {"pid", process}, {"args", {{"name", name}}}};
}

Json name_of_track(int process, std::int64_t track, const std::string& name) {
  return {{"ph", "M"}, {"name", "thread_name"}, {"pid", process}, {"tid", track}, {"args", {{"name", name}}}};
}

Json span(const std::string& name, int process, std::int64_t track, double from_s, double duration_s,
          const Json& arguments = Json::object()) {
  return {{"ph", "X"},
          {"name", name},
          {"pid", process},
          {"tid", track},
          {"ts", us_per_s * from_s},
          {"dur", us_per_s * duration_s},
          {"args", arguments}};
}

Json counter(const std::string& name, double at_s, const char* unit, double value) {
  return {{"ph", "C"},
          {"name", name},
          {"pid", links_process},
          {"ts", us_per_s * at_s},
          {"args", {{unit, value}}}};
}

// Returns 0 for a part that the trainer did not measure.
double part_s(const Json& iteration, const char* part) {
  const auto found = iteration.find(part);
  return found != iteration.end() && found->is_number() ? found->get<double>() : 0;
}

// The iterations of all workers, by rank and iteration; the last line counts if one was repeated.
using WorkerLines = std::map<std::pair<std::int64_t, std::int64_t>, Json>;

WorkerLines worker_lines(const std::vector<Json>& lines, IterationRange range) {
  WorkerLines out;
  for (const Json& line : lines) {
    const std::int64_t iteration = line.at("iteration");
    if (iteration >= range.first && iteration <= range.second) out[{line.at("rank"), iteration}] = line;
  }
  return out;
}

// When each of worker 0's iterations ended. Marks among the links' samples are later, by the way of the report.
std::map<std::int64_t, double> ends_of(const std::vector<Json>& links, const WorkerLines& workers) {
  std::map<std::int64_t, double> out;
  for (const Json& line : links) {
    if (line.contains("iteration")) out[line.at("iteration")] = line.at("at_s");
  }
  for (const auto& [key, line] : workers) {
    if (key.first == 0) out[key.second] = line.at("at_s");
  }
  return out;
}

void append_iteration(Json& events, const Json& iteration, double end_s) {
  const double whole_s = part_s(iteration, "iteration_time_s");
  const double load_s = part_s(iteration, "load_s");
  const double exposed_s = std::min(part_s(iteration, "exposed_exchange_s"), whole_s);
  const double begin_s = end_s - whole_s;
  const double exchange_begin_s = std::min(begin_s + load_s + part_s(iteration, "first_bucket_s"), end_s);
  events.push_back(span(fmt::format("iteration {}", iteration.at("iteration").get<std::int64_t>()),
                        worker_process, iteration_track, begin_s, whole_s, iteration));
  if (load_s > 0) events.push_back(span("load", worker_process, compute_track, begin_s, load_s));
  events.push_back(span("forward and backward", worker_process, compute_track, begin_s + load_s,
                        std::max(0.0, whole_s - load_s - exposed_s)));
  events.push_back(span("exchange", worker_process, exchange_track, exchange_begin_s,
                        end_s - exchange_begin_s,
                        {{"encode_s", part_s(iteration, "encode_s")},
                         {"exchange_s", part_s(iteration, "exchange_s")},
                         {"decode_s", part_s(iteration, "decode_s")}}));
  if (exposed_s > 0)
    events.push_back(
        span("waits for the exchange", worker_process, wait_track, end_s - exposed_s, exposed_s));
}

// Adds a track per worker. The track's number is not the rank, because viewers merge track 0 into others.
void append_workers(Json& events, const WorkerLines& workers) {
  if (workers.empty()) return;
  events.push_back(name_of_process(workers_process, "all workers"));
  std::set<std::int64_t> ranks;
  for (const auto& [key, line] : workers) {
    const auto& [rank, iteration] = key;
    const std::int64_t track = rank + 1;
    if (ranks.insert(rank).second)
      events.push_back(name_of_track(workers_process, track, fmt::format("worker {}", rank)));
    const double end_s = line.at("at_s");
    const double whole_s = line.at("iteration_time_s");
    const double exposed_s = std::min(part_s(line, "exposed_exchange_s"), whole_s);
    const bool has_parts = line.at("exposed_exchange_s").is_number();
    events.push_back(span(has_parts ? "compute" : "iteration", workers_process, track, end_s - whole_s,
                          whole_s - exposed_s, {{"iteration", iteration}}));
    if (exposed_s > 0) {
      events.push_back(span("waits for the exchange", workers_process, track, end_s - exposed_s, exposed_s,
                            {{"iteration", iteration}}));
    }
  }
}

// Adds the samples that overlap with the time from begin_s to end_s.
void append_links(Json& events, const std::vector<Json>& links, double begin_s, double end_s) {
  if (links.empty()) return;
  const Json& directions = links.front().at("directions");
  for (const Json& sample : links) {
    if (!sample.contains("bytes")) continue;
    const double from_s = sample.at("from_s");
    const double to_s = sample.at("at_s");
    if (to_s <= begin_s || from_s >= end_s || to_s <= from_s) continue;
    for (std::size_t i = 0; i < directions.size(); ++i) {
      const auto name = directions.at(i).get<std::string>();
      const double bytes = sample.at("bytes").at(i);
      events.push_back(counter("rate " + name, from_s, "Mbit/s", 8e-6 * bytes / (to_s - from_s)));
      events.push_back(
          counter("queue " + name, from_s, "kB", 1e-3 * sample.at("max_queue_bytes").at(i).get<double>()));
    }
  }
}

}  // namespace

Json chrome_trace(const RunLines& lines, IterationRange range) {
  const WorkerLines workers = worker_lines(lines.workers, range);
  const std::map<std::int64_t, double> ends = ends_of(lines.links, workers);
  Json events = {name_of_process(worker_process, "worker 0"),
                 name_of_process(links_process, "capped links"),
                 name_of_track(worker_process, iteration_track, "iterations"),
                 name_of_track(worker_process, compute_track, "compute"),
                 name_of_track(worker_process, exchange_track, "exchange"),
                 name_of_track(worker_process, wait_track, "waits")};
  std::optional<double> begin_s;
  double end_s = 0;
  for (const Json& iteration : lines.iterations) {
    if (!iteration.contains("iteration_time_s")) continue;  // an evaluation, or without times
    const auto number = iteration.at("iteration").get<std::int64_t>();
    if (number < range.first || number > range.second) continue;
    const auto marked = ends.find(number);
    end_s = marked != ends.end() ? marked->second : part_s(iteration, "train_time_s");
    if (!begin_s) begin_s = end_s - part_s(iteration, "iteration_time_s");
    append_iteration(events, iteration, end_s);
  }
  append_workers(events, workers);
  if (begin_s) append_links(events, lines.links, *begin_s, end_s);
  return {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
}

Json chrome_trace(const fs::path& run_folder, IterationRange range) {
  const fs::path iterations_file = run_folder / "iterations.jsonl";
  const RunLines lines{.iterations = read_json_lines(iterations_file),
                       .links = read_json_lines(run_folder / "links.jsonl"),
                       .workers = read_json_lines(run_folder / "workers.jsonl")};
  const bool has_some = std::ranges::any_of(lines.iterations, [&](const Json& line) {
    const std::int64_t number = line.value("iteration", std::int64_t{0});
    return line.contains("iteration_time_s") && number >= range.first && number <= range.second;
  });
  if (!has_some) {
    throw InputError(
        {iterations_file, ""},
        fmt::format("has no iterations {} to {} with times; runs of mode \"converge\" and exported records "
                    "have none",
                    range.first, range.second));
  }
  try {
    return chrome_trace(lines, range);
  } catch (const Json::exception& error) {
    throw InputError(
        {run_folder.string(), ""},
        fmt::format("iterations.jsonl, links.jsonl or workers.jsonl cannot be read as a run's file: {}",
                    error.what()));
  }
}

}  // namespace thinpipe
