// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/link_history.hh"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>

#include <fmt/format.h>

#include "harness/records/record.hh"
#include "harness/reports/json_lines.hh"

namespace thinpipe {
namespace {

constexpr double most_parts = 200;
constexpr std::size_t most_directions = 8;
constexpr double mbit = 1e6;
constexpr double kb = 1e3;

// Leaves out digits that no drawing shows.
Json drawn_number(double value) {
  return std::stod(fmt::format("{:.4g}", value));
}

struct Direction {
  std::string name;
  std::vector<double> bytes;  // of each part
  std::vector<double> queue_bytes;
  std::set<std::size_t> drops;

  double total_bytes() const { return std::accumulate(bytes.begin(), bytes.end(), 0.0); }
};

// Returns [time, rate in Mbit/s] of each cap of this direction.
Json caps_of(const std::string& direction, const Json& record) {
  Json caps = Json::array();
  const Json fidelity = record.value("fidelity", Json());
  for (const Json& check : fidelity.is_object() ? fidelity.at("checks") : Json::array()) {
    if (check.at("name") == "shaper " + direction)
      caps.push_back({0, check.at("specified").at("rate_bit_per_s").get<double>() / mbit});
  }
  if (caps.empty()) return caps;
  double rate = caps.front().at(1);
  bool is_down = false;
  const Json events = record.value("network_events", Json());
  for (const Json& event : events.is_array() ? events : Json::array()) {
    const Json applied = event.value("applied", Json());
    if (!applied.is_object() || !applied.contains(direction) || !event.at("confirmed_s").is_number())
      continue;
    const Json& change = applied.at(direction);
    if (!change.contains("rate_bit_per_s") && !change.contains("state")) continue;
    if (change.contains("rate_bit_per_s")) rate = change.at("rate_bit_per_s").get<double>() / mbit;
    if (change.contains("state")) is_down = change.at("state") == "down";
    caps.push_back({drawn_number(event.at("confirmed_s")), is_down ? 0 : rate});
  }
  return caps;
}

// Divides the sample's bytes among the parts by the time that it has in each.
void add_sample(Direction& direction, const Json& sample, std::size_t column, double part_s) {
  const double from_s = sample.at("from_s");
  const double to_s = sample.at("at_s");
  const double bytes = sample.at("bytes").at(column);
  const double queue_bytes = sample.at("max_queue_bytes").at(column);
  const bool dropped = sample.at("drops").at(column) > 0;
  if (to_s <= from_s || from_s < 0) return;
  const std::size_t last = direction.bytes.size() - 1;
  for (auto part = std::min(static_cast<std::size_t>(from_s / part_s), last); part <= last; ++part) {
    const auto number = static_cast<double>(part);
    const double begin_s = std::max(from_s, number * part_s);
    const double end_s = part == last ? to_s : std::min(to_s, (number + 1) * part_s);
    if (end_s <= begin_s) break;
    direction.bytes[part] += bytes * (end_s - begin_s) / (to_s - from_s);
    direction.queue_bytes[part] = std::max(direction.queue_bytes[part], queue_bytes);
    if (dropped) direction.drops.insert(part);
  }
}

}  // namespace

Json link_history(const std::vector<Json>& lines, const Json& record) {
  const Json& names = lines.at(0).at("directions");
  double end_s = 0;
  for (const Json& line : lines) {
    if (line.contains("bytes")) end_s = std::max(end_s, line.at("at_s").get<double>());
  }
  if (end_s <= 0 || names.empty()) return nullptr;
  const double period_s = lines.at(0).at("period_s");
  const auto parts =
      static_cast<std::size_t>(std::clamp(std::ceil(end_s / period_s - 1e-6), 1.0, most_parts));
  const double part_s = end_s / static_cast<double>(parts);
  std::vector<Direction> directions;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Direction& direction = directions.emplace_back(Direction{.name = names.at(i),
                                                             .bytes = std::vector<double>(parts),
                                                             .queue_bytes = std::vector<double>(parts),
                                                             .drops = {}});
    for (const Json& line : lines) {
      if (line.contains("bytes")) add_sample(direction, line, i, part_s);
    }
  }
  std::vector<double> totals;
  for (const Direction& direction : directions) totals.push_back(direction.total_bytes());
  std::ranges::sort(totals, std::greater());
  const double least = totals[std::min(most_directions, totals.size()) - 1];
  Json out = {{"end_s", drawn_number(end_s)}, {"directions", Json::array()}};
  for (const Direction& direction : directions) {
    if (direction.total_bytes() < least || out["directions"].size() == most_directions) continue;
    Json rates = Json::array();
    Json queues = Json::array();
    for (const double bytes : direction.bytes) rates.push_back(drawn_number(8 * bytes / part_s / mbit));
    for (const double bytes : direction.queue_bytes) queues.push_back(drawn_number(bytes / kb));
    out["directions"].push_back({{"name", direction.name},
                                 {"rates", std::move(rates)},
                                 {"queues", std::move(queues)},
                                 {"drops", direction.drops},
                                 {"caps", caps_of(direction.name, record)}});
  }
  return out;
}

Json link_history(const std::filesystem::path& run_folder) {
  const std::vector<Json> lines = read_json_lines(run_folder / "links.jsonl");
  if (lines.empty()) return nullptr;
  try {
    return link_history(lines, parse_json_file((run_folder / record_name).string()));
  } catch (const Json::exception& error) {
    throw InputError({run_folder.string(), ""},
                     fmt::format("links.jsonl or run.json cannot be read as a run's file: {}", error.what()));
  }
}

}  // namespace thinpipe
