#include "harness/reports/timeline.hh"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "common/support/file_descriptor.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

constexpr double us_per_s = 1e6;
constexpr int worker_process = 1;
constexpr int links_process = 2;

enum Track { iteration_track = 1, compute_track, exchange_track, wait_track };

Json name_of_process(int process, const char* name) {
  return {{"ph", "M"}, {"name", "process_name"}, {"pid", process}, {"args", {{"name", name}}}};
}

Json name_of_track(Track track, const char* name) {
  return {{"ph", "M"},
          {"name", "thread_name"},
          {"pid", worker_process},
          {"tid", static_cast<int>(track)},
          {"args", {{"name", name}}}};
}

Json span(const std::string& name, Track track, double from_s, double duration_s, const Json& arguments) {
  return {{"ph", "X"},
          {"name", name},
          {"pid", worker_process},
          {"tid", static_cast<int>(track)},
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

// When each iteration ended, by the marks among the links' samples; the last counts if one was repeated.
std::map<std::int64_t, double> marked_ends(const std::vector<Json>& links) {
  std::map<std::int64_t, double> out;
  for (const Json& line : links) {
    if (line.contains("iteration")) out[line.at("iteration")] = line.at("at_s");
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
                        iteration_track, begin_s, whole_s, iteration));
  if (load_s > 0) events.push_back(span("load", compute_track, begin_s, load_s, Json::object()));
  events.push_back(span("forward and backward", compute_track, begin_s + load_s,
                        std::max(0.0, whole_s - load_s - exposed_s), Json::object()));
  events.push_back(span("exchange", exchange_track, exchange_begin_s, end_s - exchange_begin_s,
                        {{"encode_s", part_s(iteration, "encode_s")},
                         {"exchange_s", part_s(iteration, "exchange_s")},
                         {"decode_s", part_s(iteration, "decode_s")}}));
  if (exposed_s > 0)
    events.push_back(
        span("waits for the exchange", wait_track, end_s - exposed_s, exposed_s, Json::object()));
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

std::vector<Json> read_lines(const fs::path& path) {
  std::vector<Json> out;
  if (!fs::exists(path)) return out;
  const std::string text = read_file(path);
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    out.push_back(Json::parse(text.substr(begin, end - begin), nullptr, false));
    if (!out.back().is_object())
      throw InputError({fmt::format("{}:{}", path.string(), out.size()), ""}, "is not a JSON object");
  }
  return out;
}

}  // namespace

Json chrome_trace(const std::vector<Json>& iterations, const std::vector<Json>& links, IterationRange range) {
  const std::map<std::int64_t, double> ends = marked_ends(links);
  Json events = {name_of_process(worker_process, "worker 0"),  name_of_process(links_process, "capped links"),
                 name_of_track(iteration_track, "iterations"), name_of_track(compute_track, "compute"),
                 name_of_track(exchange_track, "exchange"),    name_of_track(wait_track, "waits")};
  std::optional<double> begin_s;
  double end_s = 0;
  for (const Json& iteration : iterations) {
    if (!iteration.contains("iteration_time_s")) continue;  // an evaluation, or without times
    const auto number = iteration.at("iteration").get<std::int64_t>();
    if (number < range.first || number > range.second) continue;
    const auto marked = ends.find(number);
    end_s = marked != ends.end() ? marked->second : part_s(iteration, "train_time_s");
    if (!begin_s) begin_s = end_s - part_s(iteration, "iteration_time_s");
    append_iteration(events, iteration, end_s);
  }
  if (begin_s) append_links(events, links, *begin_s, end_s);
  return {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
}

Json chrome_trace(const fs::path& run_folder, IterationRange range) {
  const fs::path iterations_file = run_folder / "iterations.jsonl";
  const fs::path links_file = run_folder / "links.jsonl";
  const std::vector<Json> iterations = read_lines(iterations_file);
  const bool has_some = std::ranges::any_of(iterations, [&](const Json& line) {
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
    return chrome_trace(iterations, read_lines(links_file), range);
  } catch (const Json::exception& error) {
    throw InputError({fmt::format("{}, {}", iterations_file.string(), links_file.string()), ""},
                     fmt::format("cannot be read as a run's files: {}", error.what()));
  }
}

}  // namespace thinpipe
