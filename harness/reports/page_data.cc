// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/page_data.hh"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>

#include "common/support/target.hh"
#include "harness/reports/seed_summary.hh"
#include "harness/reports/tables.hh"

namespace thinpipe {
namespace {

// Leaves out digits that no drawing or label shows.
std::string short_number(std::optional<double> value) {
  return value ? fmt::format("{:.7g}", *value) : "null";
}

Json shortened(const Json& value) {
  return value.is_number_float() ? Json(std::stod(fmt::format("{:.7g}", value.get<double>()))) : value;
}

// Values that many runs share. The page has each of them once, and runs refer to it by its index.
class Shared {
 public:
  std::size_t index_of(const Json& value) {
    const auto [found, is_new] = indices_.try_emplace(value, values_.size());
    if (is_new) values_.push_back(value);
    return found->second;
  }

  const Json& values() const { return values_; }

 private:
  std::map<Json, std::size_t> indices_;
  Json values_ = Json::array();
};

Json target_of_row(const Json& row) {
  if (row.at("target").is_null()) return nullptr;
  const Target target = read_target(row.at("target"), {});
  return {{"metric", name_of(target.metric)}, {"value", target.value}};
}

// Returns the train time at the curve's end, which is the largest of its points; null if no point has one.
Json end_s(const std::vector<record::CurvePoint>& curve) {
  std::optional<double> end;  // nullopt compares less than any number
  for (const record::CurvePoint& point : curve) end = std::max(end, point.train_time_s);
  return end ? shortened(*end) : Json(nullptr);
}

// Names runs and series. Several series have the same labels if an experiment was edited or ran in several
// modes; the page tells series apart by their names, so a mode or the start of the first run is added to
// them.
class Names {
 public:
  explicit Names(const Report& report) : with_experiment_(several_experiments(report.runs)) {
    for (std::size_t i = 0; i < report.runs.size(); ++i) {
      const Json& row = report.runs[i];
      alike_[plain_series(row)].try_emplace(
          group_of(row),
          Series{.mode = row.at("mode").get<std::string>(), .started_at = report.digests[i].started_at});
    }
  }

  std::string of_run(const Json& row) const { return name_of(row, with_experiment_) + addition(row); }
  std::string of_series(const Json& row) const { return plain_series(row) + addition(row); }

 private:
  struct Series {
    std::string mode;
    std::string started_at;
  };

  static std::string group_of(const Json& row) { return row.at("group").get<std::string>(); }

  std::string plain_series(const Json& row) const {
    const std::string label = label_without_seed(row);
    return with_experiment_ ? fmt::format("{}: {}", row.at("experiment").get<std::string>(), label) : label;
  }

  std::string addition(const Json& row) const {
    const auto& alike = alike_.at(plain_series(row));
    if (alike.size() == 1) return "";
    std::set<std::string> modes;
    for (const auto& [group, series] : alike) modes.insert(series.mode);
    const Series& own = alike.at(group_of(row));
    return fmt::format(" ({})", modes.size() == alike.size() ? own.mode : "started " + own.started_at);
  }

  bool with_experiment_;
  std::map<std::string, std::map<std::string, Series>> alike_;  // by their common name and their group
};

// Returns a run's data except its curve, in the order in which unpack() in series.js reads it.
Json drawn(const Json& row, const Digest& digest, const Names& names, Shared& shared) {
  const std::string name = names.of_run(row);
  const std::string series = names.of_series(row);
  Json labels = Json::array();
  for (const auto& [axis, value] : row.at("labels").items())
    labels.push_back({shared.index_of(axis), shared.index_of(value)});
  Json times = row.at("iteration_time_s");
  if (times.is_object()) {
    Json parts = Json::array();
    for (const char* part : {"mean", "compute", "load", "exposed_exchange"})
      parts.push_back(
          shortened(times.value(part, part == std::string_view("load") ? Json(0) : Json(nullptr))));
    times = std::move(parts);
  }
  return {name,
          series == name ? Json(nullptr) : Json(shared.index_of(series)),
          shared.index_of(row.at("experiment")),
          shared.index_of(row.at("group")),
          shared.index_of(digest.method),
          labels,
          shared.index_of(row.at("status")),
          shared.index_of(row.at("fidelity")),
          shared.index_of(target_of_row(row)),
          row.at("reached"),
          shortened(row.at("restricted_time_to_accuracy_s")),
          row.at("restricted_iterations_to_target"),
          row.at("iterations"),
          shortened(row.at("sent_bytes_per_worker")),
          row.at("bottleneck_wire_bytes"),
          times,
          shortened(row.at("predicted").at("iteration_time_s")),
          digest.curve.size(),
          end_s(digest.curve)};
}

struct CurveField {
  const char* name;
  std::optional<double> (*of)(const record::CurvePoint& point);
};
constexpr std::array<CurveField, 6> curve_fields = {
    {{"iteration",
      [](const record::CurvePoint& point) { return std::optional(static_cast<double>(point.iteration)); }},
     {"epoch", [](const record::CurvePoint& point) { return std::optional(point.epoch); }},
     {"train_time_s", [](const record::CurvePoint& point) { return point.train_time_s; }},
     {"train_loss", [](const record::CurvePoint& point) { return point.train_loss; }},
     {"test_loss", [](const record::CurvePoint& point) { return point.test_loss; }},
     {"test_accuracy", [](const record::CurvePoint& point) { return point.test_accuracy; }}}};

// Returns one list per field, in their order.
std::string columns_of(const std::vector<record::CurvePoint>& curve) {
  std::string out;
  for (const CurveField& field : curve_fields) {
    std::vector<std::string> values;
    values.reserve(curve.size());
    for (const record::CurvePoint& point : curve) values.push_back(short_number(field.of(point)));
    out += fmt::format("{}[{}]", out.empty() ? "" : ",", fmt::join(values, ","));
  }
  return fmt::format("[{}]", out);
}

// Returns the fields of which any point has a value.
Json measured(const std::vector<Digest>& digests) {
  Json out = Json::array();
  for (const CurveField& field : curve_fields) {
    const auto has_value = [&field](const Digest& digest) {
      return std::ranges::any_of(
          digest.curve, [&field](const record::CurvePoint& point) { return field.of(point).has_value(); });
    };
    if (std::ranges::any_of(digests, has_value)) out.push_back(field.name);
  }
  return out;
}

}  // namespace

Json page_data(const Report& report) {
  Shared shared;
  Json runs = Json::array();
  const Names names(report);
  for (std::size_t i = 0; i < report.runs.size(); ++i)
    runs.push_back(drawn(report.runs[i], report.digests[i], names, shared));
  return {{"runs", std::move(runs)}, {"shared", shared.values()}, {"measured", measured(report.digests)}};
}

std::vector<std::string> curve_pieces(const std::vector<Digest>& digests) {
  std::vector<std::string> pieces;
  for (std::size_t first = 0; first < digests.size(); first += runs_per_piece) {
    std::vector<std::string> curves;
    for (std::size_t i = first; i < std::min(first + runs_per_piece, digests.size()); ++i)
      curves.push_back(columns_of(digests[i].curve));
    pieces.push_back(fmt::format("[{}]", fmt::join(curves, ",\n")));
  }
  return pieces;
}

}  // namespace thinpipe
