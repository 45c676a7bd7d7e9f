// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/tables.hh"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/support/parallel.hh"
#include "common/support/readable.hh"
#include "harness/reports/seed_summary.hh"
#include "harness/reports/verdicts.hh"

namespace thinpipe {
namespace {

const char* const none = "-";
const char* const unknown_time = "unknown";

// How a number is printed: times `factor`, with the digits that `size` needs, and before a unit.
struct Style {
  std::string (*digits)(double value, double size);
  const char* unit = "";
  double factor = 1;
};

std::string measured(double value, double size) {
  return three_digits(value, size);
}

std::string measured_ratio(double value, double size) {
  return three_digits(value, size, 2);
}

template <int decimals>
std::string with_decimals(double value, double /*size*/) {
  return fmt::format("{:.{}f}", value, decimals);
}

std::string as_bytes(double value, double /*size*/) {
  return format_bytes(value);
}

std::string two_digits(double value, double /*size*/) {
  return fmt::format("{:.2g}", value);
}

constexpr Style seconds{measured, " s"};
constexpr Style milliseconds{measured, "", 1000};
constexpr Style milliseconds_with_unit{measured, " ms", 1000};
constexpr Style speed_up{measured_ratio, "x"};
constexpr Style short_ratio{measured_ratio};
constexpr Style plain_ratio{with_decimals<3>};
constexpr Style percent{with_decimals<0>, " %", 100};
constexpr Style accuracy{with_decimals<4>};
constexpr Style whole{with_decimals<0>};
constexpr Style bytes{as_bytes};
constexpr Style relative_error{two_digits};

std::string show_digits(double value, double size, const Style& style) {
  return style.digits(style.factor * value, style.factor * size);
}

std::string show(double value, const Style& style) {
  return show_digits(value, value, style) + style.unit;
}

Cell number(const Json& value, const Style& style) {
  if (!value.is_number()) return {none};
  return {show(value.get<double>(), style), value.get<double>()};
}

Cell time_to_target(const Json& row) {
  if (row.at("status") != "completed") return {row.at("status").get<std::string>()};
  if (row.at("target").is_null()) return {none};
  if (row.at("reached").get<bool>()) return number(row.at("time_to_accuracy_s"), seconds);
  return {row.at("first_touch_iteration").is_null() ? "not reached" : "not held"};
}

// `value` is null although the same without set-up, `without`, is known: nobody knows the set-up cost.
Cell or_unknown(Cell cell, const Json& without) {
  return !cell.value && without.is_number() ? Cell{unknown_time} : cell;
}

Cell time_with_set_up(const Json& row) {
  return or_unknown(number(row.at("time_to_accuracy_with_set_up_s"), seconds), row.at("time_to_accuracy_s"));
}

// Shows the iterations of runs that have no train time.
Cell iterations_to_target(const Json& row) {
  const bool is_timed = row.at("time_to_accuracy_s").is_number();
  return is_timed ? Cell{none} : number(row.at("iterations_to_target"), whole);
}

// A lower bound if the baseline never reached the target. A mark follows if a network was not faithful.
// `suffix`: of a variant of the speed-up.
Cell speed_up_over(const char* baseline, const Json& row, const char* suffix = "") {
  const std::string name = fmt::format("speed_up_over_{}", baseline);
  const Json plain = row.value(name, Json(nullptr));
  Cell cell = or_unknown(number(row.value(name + suffix, Json(nullptr)), speed_up), plain);
  if (!cell.value) return cell;
  if (row.value(name + "_is_lower_bound", false)) cell.text = fmt::format("{}{}", at_least, cell.text);
  cell.text += mark_of(row.value(name + "_fidelity", Json(nullptr)));
  return cell;
}

Cell iteration_part(const Json& row, const char* part, const Style& style) {
  const Json& times = row.at("iteration_time_s");
  return number(times.is_object() ? times.value(part, Json(nullptr)) : Json(nullptr), style);
}

struct RunColumn {
  const char* heading;
  const char* meaning;
  bool for_terminals;
  Cell (*cell)(const Json& row);
};

// clang-format off
const RunColumn run_columns[] = {
    {"target", "the run's target, or that of --target", true,
     [](const Json& row) { return Cell{target_text(row)}; }},
    {"time to target", "train time from which the target was held; \"not held\": only touched", true, time_to_target},
    {"iterations to target", "iterations at that evaluation, in mode converge", true, iterations_to_target},
    {"with set-up", "time to target and set-up cost: pre-training and pruning; unknown for older records", true,
     time_with_set_up},
    {"first touch", "train time at the first evaluation at the target, whether or not it was held", false,
     [](const Json& row) { return number(row.at("first_touch_s"), seconds); }},
    {"vs dense", "speed-up over the dense run that differs only in method and pruning", true,
     [](const Json& row) { return speed_up_over("dense", row); }},
    {"vs fp16", "speed-up over the fp16 run that differs only in method and pruning", true,
     [](const Json& row) { return speed_up_over("fp16", row); }},
    {"vs dense, with set-up", "ratio of the times with set-up of that dense run and this run", true,
     [](const Json& row) { return speed_up_over("dense", row, "_with_set_up"); }},
    {"vs fp16, with set-up", "ratio of the times with set-up of that fp16 run and this run", false,
     [](const Json& row) { return speed_up_over("fp16", row, "_with_set_up"); }},
    {"accuracy", "test accuracy at the last evaluation", true,
     [](const Json& row) { return number(row.at("final_accuracy"), accuracy); }},
    {"wire", "bytes on the busiest bottleneck direction; replays have none", true,
     [](const Json& row) { return number(row.at("bottleneck_wire_bytes"), bytes); }},
    {"wire/sent", "these over the bytes that a worker sent, by formula", false,
     [](const Json& row) { return number(row.at("wire_over_sent"), plain_ratio); }},
    {"link use", "utilisation of that direction", true,
     [](const Json& row) { return number(row.at("bottleneck_utilisation"), percent); }},
    {"iteration", "mean iteration time", true,
     [](const Json& row) { return iteration_part(row, "mean", milliseconds_with_unit); }},
    {"/predicted", "measured over predicted iteration time", true,
     [](const Json& row) { return number(row.at("measured_over_predicted"), short_ratio); }},
    {"compute", "mean compute time per iteration, in ms", true,
     [](const Json& row) { return iteration_part(row, "compute", milliseconds); }},
    {"encode", "mean time per iteration to encode messages, in ms", true,
     [](const Json& row) { return iteration_part(row, "encode", milliseconds); }},
    {"exposed", "mean time per iteration spent waiting for communication, in ms", true,
     [](const Json& row) { return iteration_part(row, "exposed_exchange", milliseconds); }},
    {"decode", "mean time per iteration to decode messages into gradients, in ms", false,
     [](const Json& row) { return iteration_part(row, "decode", milliseconds); }},
    {"vNMSE", "squared error of the synchronised gradient over its squared norm; 0 is lossless", true,
     [](const Json& row) { return number(row.at("vnmse"), relative_error); }},
    {"fidelity", "whether the emulated network behaved as specified", true,
     [](const Json& row) { return Cell{fidelity_text(row)}; }},
};
// clang-format on

struct SeedsColumn {
  const char* name;
  const char* heading;
  const char* meaning;
  Style style;
  bool is_to_target = false;  // whether runs that did not reach the target count with their whole run
  // The same without set-up: the cell is "unknown" unless as many runs have both.
  const char* without = nullptr;
  const char* speed_up = nullptr;  // that it is, whose bounds and verdict it has; nullptr for others
};
constexpr SeedsColumn seeds_columns[] = {
    {"time_to_accuracy_s", "time to target",
     "mean train time to the target; a lower bound if some runs did not reach it; if none did, that of the "
     "whole runs",
     seconds, true},
    {"time_to_accuracy_with_set_up_s", "with set-up", "mean time to the target with set-up, likewise",
     seconds, true, "time_to_accuracy_s"},
    {"iterations_to_target", "iterations to target", "mean iterations to the target, likewise", whole, true},
    {"speed_up_over_dense", "vs dense",
     "geometric mean of the runs' speed-ups over the dense run of their seed; an upper bound if some runs did not "
     "reach the target; none if dense did not reach it with a seed of others",
     speed_up, true, nullptr, "speed_up_over_dense"},
    {"speed_up_over_fp16", "vs fp16", "the same over fp16", speed_up, true, nullptr, "speed_up_over_fp16"},
    {"speed_up_over_dense_with_set_up", "vs dense, with set-up", "the same of times with set-up", speed_up,
     true, "speed_up_over_dense", "speed_up_over_dense"},
    {"speed_up_over_fp16_with_set_up", "vs fp16, with set-up", "the same of times with set-up", speed_up,
     true, "speed_up_over_fp16", "speed_up_over_fp16"},
    {"final_accuracy", "accuracy", "mean test accuracy at the last evaluation", accuracy},
    {"bottleneck_wire_bytes", "wire", "mean bytes on the busiest bottleneck direction; replays have none",
     bytes},
    {"bottleneck_utilisation", "link use", "mean utilisation of that direction", percent},
    {"iteration_time_s", "iteration", "mean of the runs' mean iteration times", milliseconds_with_unit},
    {"measured_over_predicted", "/predicted", "geometric mean of measured over predicted iteration time",
     short_ratio},
    {"vnmse", "vNMSE", "mean over the runs of the gradient's squared error over its squared norm",
     relative_error}};

// Returns whether some pairs bound the speed-up from above and others from below. Their mean is no bound, and neither is
// that of one kind, because it leaves out seeds.
bool has_both_bounds(const Json& entry, const SeedsColumn& column) {
  return entry.value(fmt::format("{}_is_upper_bound", column.speed_up), false) &&
         entry.value(fmt::format("{}_is_lower_bound", column.speed_up), false);
}

// Returns the sign of a mean; empty if it is no bound.
std::string_view bound_of(const Json& entry, const SeedsColumn& column) {
  if (column.speed_up == nullptr)
    return column.is_to_target && entry.at("reached") != entry.at("runs") ? at_least : "";
  if (entry.value(fmt::format("{}_is_upper_bound", column.speed_up), false)) return at_most;
  return entry.value(fmt::format("{}_is_lower_bound", column.speed_up), false) ? at_least : "";
}

// Returns a text such as "12.3 s [11.9, 12.8]". Bytes have no interval, because the method determines them; a
// bound has none, because the ends would be no bounds.
Cell mean_cell(const Json& entry, const SeedsColumn& column) {
  const std::string_view bound = bound_of(entry, column);
  const bool is_speed_up = column.speed_up != nullptr;
  const bool is_restricted = bound == (is_speed_up ? at_most : at_least);
  const bool none_reached = entry.at("reached") == 0;
  if (is_speed_up && (none_reached || has_both_bounds(entry, column))) return {none};
  const auto summary_of = [&](const char* name) -> const Json& {
    return entry.at(is_restricted ? fmt::format("restricted_{}", name) : name);
  };
  const Json& summary = summary_of(column.name);
  if (column.without != nullptr && summary.at("count") != summary_of(column.without).at("count"))
    return {unknown_time};
  Cell cell = number(summary.at("mean"), column.style);
  if (!cell.value) return cell;
  if (is_restricted && none_reached) return {"never in " + cell.text};  // no value: it is no time to sort by
  const Json& low = summary.at("ci95_low");
  if (bound.empty() && low.is_number() && column.style.digits != as_bytes) {
    const auto mean = summary.at("mean").get<double>();
    const auto end = [&](const Json& value) { return show_digits(value.get<double>(), mean, column.style); };
    cell.text += fmt::format(" [{}, {}]", end(low), end(summary.at("ci95_high")));
  }
  if (is_speed_up && bound.empty() && summary.at("count") != entry.at("completed"))
    cell.text += fmt::format(" ({} of {})", summary.at("count").dump(), entry.at("completed").dump());
  cell.text = fmt::format("{}{}", bound, cell.text);
  if (is_speed_up)
    cell.text += mark_of(entry.value(fmt::format("{}_fidelity", column.speed_up), Json(nullptr)));
  return cell;
}

// Returns a text such as "3 of 5 (1 failed)".
Cell reached_cell(const Json& entry) {
  if (entry.at("target").is_null()) return {none};
  std::string text =
      fmt::format("{} of {}", entry.at("reached").get<std::size_t>(), entry.at("runs").get<std::size_t>());
  if (const auto failed = entry.at("failed").get<std::size_t>(); failed > 0)
    text += fmt::format(" ({} failed)", failed);
  return {text, entry.at("reached").get<double>()};
}

std::string seeds_fidelity(const Json& entry) {
  const auto degraded = entry.at("degraded").get<std::int64_t>();
  const auto not_judged = entry.at("not_judged").get<std::int64_t>();
  const std::int64_t all = entry.at("judged").get<std::int64_t>() + not_judged;
  if (all == 0) return none;
  std::vector<std::string> parts;
  if (degraded > 0) parts.push_back(fmt::format("{} of {} degraded", degraded, all));
  if (not_judged > 0) parts.push_back(fmt::format("{} of {} not judged", not_judged, all));
  return parts.empty() ? "faithful" : fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

bool several_experiments(const Json& rows) {
  return std::ranges::any_of(
      rows, [&rows](const Json& row) { return row.at("experiment") != rows.at(0).at("experiment"); });
}

std::string name_of(const Json& row, bool with_experiment) {
  const auto label = row.at("label").get<std::string>();
  return with_experiment ? fmt::format("{}: {}", row.at("experiment").get<std::string>(), label) : label;
}

std::string target_text(const Json& row) {
  const Json& target = row.at("target");
  return target.is_null() ? none : to_string(read_target(target, {}));
}

std::string fidelity_text(const Json& row) {
  if (!row.at("fidelity").is_string()) return none;
  const auto verdict = row.at("fidelity").get<std::string>();
  return row.at("link_changes") > 0 ? verdict + ", links changed" : verdict;
}

std::vector<std::string> warnings_of(const Json& rows) {
  std::vector<std::string> warnings;  // each once, in the order of the runs
  std::map<std::string, std::vector<std::string>> names;
  const bool with_experiment = several_experiments(rows);
  for (const Json& row : rows) {
    for (const Json& each : row.at("warnings")) {
      const auto warning = each.get<std::string>();
      if (!names.contains(warning)) warnings.push_back(warning);
      names[warning].push_back(name_of(row, with_experiment));
    }
  }
  std::vector<std::string> lines;
  for (const std::string& warning : warnings) {
    const std::vector<std::string>& runs = names.at(warning);
    std::string who = runs.front();
    if (runs.size() > 1)
      who += fmt::format(" and {} other run{}", runs.size() - 1, runs.size() > 2 ? "s" : "");
    lines.push_back(fmt::format("{}: {}", who, warning));
  }
  return lines;
}

Table without_empty_columns(const Table& table) {
  Table out{.columns = {}, .rows = std::vector<std::vector<Cell>>(table.rows.size())};
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    const auto has_value = [column](const std::vector<Cell>& row) { return row[column].text != none; };
    if (column > 0 && std::ranges::none_of(table.rows, has_value)) continue;
    out.columns.push_back(table.columns[column]);
    for (std::size_t row = 0; row < table.rows.size(); ++row)
      out.rows[row].push_back(table.rows[row][column]);
  }
  return out;
}

Table runs_table(const Json& rows) {
  Table table{.columns = {{"method", "the run's values on the swept axes"}}, .rows = {}};
  for (const RunColumn& column : run_columns)
    table.columns.push_back({column.heading, column.meaning, column.for_terminals});
  const bool with_experiment = several_experiments(rows);
  table.rows.resize(rows.size());
  in_parallel(rows.size(), [&](std::size_t i) {
    std::vector<Cell>& cells = table.rows[i];
    cells.push_back({name_of(rows[i], with_experiment)});
    for (const RunColumn& column : run_columns) cells.push_back(column.cell(rows[i]));
  });
  return table;
}

Table seeds_table(const Json& entries) {
  Table table{
      .columns =
          {{"over seeds [95 % CI]",
            "runs that differ only in their seed; in brackets the 95 % confidence interval of the mean"},
           {"target", "the runs' target, or that of --target"},
           {"reached", "number of runs that reached the target"}},
      .rows = {}};
  for (const SeedsColumn& column : seeds_columns) table.columns.push_back({column.heading, column.meaning});
  table.columns.push_back({"fidelity", "whether the emulated networks behaved as specified"});
  const bool with_experiment = several_experiments(entries);
  for (const Json& entry : entries) {
    std::vector<Cell>& cells = table.rows.emplace_back();
    cells.push_back({name_of(entry, with_experiment)});
    cells.push_back({target_text(entry)});
    cells.push_back(reached_cell(entry));
    for (const SeedsColumn& column : seeds_columns) cells.push_back(mean_cell(entry, column));
    cells.push_back({seeds_fidelity(entry)});
  }
  return table;
}

std::string seeds_note(const Table& table, const Json& entries) {
  const auto is_bound = [](const Cell& cell) {
    return cell.text.starts_with(at_least) || cell.text.starts_with(at_most);
  };
  const bool has_bounds = std::ranges::any_of(
      table.rows, [&](const std::vector<Cell>& row) { return std::ranges::any_of(row, is_bound); });
  std::string note = spread_note(entries) + " Means of ratios are geometric.";
  return has_bounds ? fmt::format("{} {}", note, bounds_note) : note;
}

}  // namespace thinpipe
