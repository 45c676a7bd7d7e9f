#include "harness/seed_summary.hh"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <boost/math/distributions/students_t.hpp>
#include <fmt/format.h>

#include "harness/support/target.hh"
#include "harness/table.hh"

namespace thinpipe {
namespace {

constexpr double confidence = 0.95;

// What is summarised, and how the table shows it: its heading, format and unit.
struct Column {
  const char* field;
  const char* heading;
  const char* format;
};
constexpr Column columns[] = {{"time_to_accuracy_s", "time to it", "{:.1f} s"},
                              {"speed_up_over_dense", "vs dense", "{:.2f}x"},
                              {"speed_up_over_fp16", "vs fp16", "{:.2f}x"},
                              {"final_accuracy", "accuracy", "{:.4f}"}};

// A row's label without the seed's part of it.
std::string label_without_seed(const Json& row) {
  auto label = row.at("label").get<std::string>();
  const Json& labels = row.at("labels");
  if (!labels.contains("seed")) return label;
  const auto seed = labels.at("seed").get<std::string>();
  const std::string with_comma = fmt::format(", {}", seed);
  if (const std::size_t found = label.rfind(with_comma); found != std::string::npos)
    return label.erase(found, with_comma.size());
  return label == seed ? "base" : label;
}

std::vector<double> values_of(const std::vector<const Json*>& rows, const char* field) {
  std::vector<double> values;
  for (const Json* const row : rows) {
    const Json value = row->value(field, Json(nullptr));
    if (value.is_number()) values.push_back(value.get<double>());
  }
  return values;
}

Json summary_of(const std::vector<const Json*>& rows) {
  const Json& first = *rows.front();
  Json out = {{"experiment", first.at("experiment")},
              {"label", label_without_seed(first)},
              {"target", first.at("target")},
              {"runs", rows.size()},
              {"reached", values_of(rows, "time_to_accuracy_s").size()}};
  for (const Column& column : columns) out[column.field] = summarise(values_of(rows, column.field));
  return out;
}

// "12.3 s +- 0.4".
std::string cell(const Json& summary, const char* format) {
  if (summary.at("mean").is_null()) return "-";
  const auto print = [format](const Json& value) {
    return fmt::format(fmt::runtime(format), value.get<double>());
  };
  const std::string mean = print(summary.at("mean"));
  return summary.at("half_interval").is_null()
             ? mean
             : fmt::format("{} +- {}", mean, print(summary.at("half_interval")));
}

}  // namespace

Json summarise(const std::vector<double>& values) {
  Json out = {{"mean", nullptr}, {"deviation", nullptr}, {"half_interval", nullptr}};
  if (values.empty()) return out;
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  out["mean"] = mean;
  if (values.size() < 2) return out;
  const double squares = std::accumulate(values.begin(), values.end(), 0.0, [mean](double sum, double value) {
    return sum + (value - mean) * (value - mean);
  });
  const double deviation = std::sqrt(squares / (n - 1));
  const double t = boost::math::quantile(boost::math::students_t(n - 1), (1 + confidence) / 2);
  out["deviation"] = deviation;
  out["half_interval"] = t * deviation / std::sqrt(n);
  return out;
}

Json summarise_seeds(const Json& rows) {
  std::vector<Json> keys;
  std::vector<std::vector<const Json*>> groups;
  for (const Json& row : rows) {
    const Json key = {row.at("experiment"), row.at("group"), row.at("target")};
    const auto place = static_cast<std::size_t>(std::ranges::find(keys, key) - keys.begin());
    if (place == keys.size()) {
      keys.push_back(key);
      groups.emplace_back();
    }
    groups[place].push_back(&row);
  }
  Json out = Json::array();
  for (const auto& group : groups) {
    if (group.size() > 1) out.push_back(summary_of(group));
  }
  return out;
}

std::string format_seed_summary(const Json& entries) {
  if (entries.empty()) return "";
  std::vector<std::string> header = {"over seeds", "target", "reached"};
  for (const Column& column : columns) header.emplace_back(column.heading);
  std::vector<std::vector<std::string>> table;
  for (const Json& entry : entries) {
    const Json& target = entry.at("target");
    table.push_back({entry.at("label").get<std::string>(),
                     target.is_null() ? "-" : to_string(read_target(target, {})),
                     fmt::format("{} of {}", entry.at("reached").get<std::size_t>(),
                                 entry.at("runs").get<std::size_t>())});
    for (const Column& column : columns) table.back().push_back(cell(entry.at(column.field), column.format));
  }
  return fmt::format(
      "\n{}Means with their 95 % confidence intervals, over the runs that reached the target.\n",
      format_table(header, table));
}

}  // namespace thinpipe
