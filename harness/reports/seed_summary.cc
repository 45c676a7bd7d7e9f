#include "harness/reports/seed_summary.hh"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <boost/math/distributions/students_t.hpp>
#include <fmt/format.h>

namespace thinpipe {
namespace {

constexpr double confidence = 0.95;

// A summarised quantity and its place in a row.
struct Summarised {
  const char* name;
  const char* place;
};
constexpr Summarised quantities[] = {{"time_to_accuracy_s", "/time_to_accuracy_s"},
                                     {"iterations_to_target", "/iterations_to_target"},
                                     {"speed_up_over_dense", "/speed_up_over_dense"},
                                     {"speed_up_over_fp16", "/speed_up_over_fp16"},
                                     {"final_accuracy", "/final_accuracy"},
                                     {"bottleneck_wire_bytes", "/bottleneck_wire_bytes"},
                                     {"bottleneck_utilisation", "/bottleneck_utilisation"},
                                     {"iteration_time_s", "/iteration_time_s/mean"},
                                     {"measured_over_predicted", "/measured_over_predicted"},
                                     {"vnmse", "/vnmse"}};

using Rows = std::vector<const Json*>;

std::vector<double> values_of(const Rows& rows, const char* place) {
  std::vector<double> values;
  for (const Json* const row : rows) {
    const Json value = row->value(Json::json_pointer(place), Json(nullptr));
    if (value.is_number()) values.push_back(value.get<double>());
  }
  return values;
}

// Returns the number of rows with this value.
std::int64_t count(const Rows& rows, const char* name, const Json& wanted) {
  return std::ranges::count_if(rows,
                               [&](const Json* row) { return row->value(name, Json(nullptr)) == wanted; });
}

Json summary_of(const Rows& rows) {
  const Json& first = *rows.front();
  Json out = {{"experiment", first.at("experiment")},
              {"label", label_without_seed(first)},
              {"target", first.at("target")},
              {"runs", rows.size()},
              {"reached", count(rows, "reached", true)},
              {"judged", count(rows, "fidelity", "faithful") + count(rows, "fidelity", "degraded")},
              {"degraded", count(rows, "fidelity", "degraded")}};
  for (const Summarised& quantity : quantities)
    out[quantity.name] = summarise(values_of(rows, quantity.place));
  for (const char* baseline : {"dense", "fp16"}) {
    const std::string bound = fmt::format("speed_up_over_{}_at_least", baseline);
    out[bound] = count(rows, bound.c_str(), true) > 0;
  }
  return out;
}

}  // namespace

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
  std::map<Json, std::size_t> places;
  std::vector<Rows> groups;
  for (const Json& row : rows) {
    const auto [found, is_new] =
        places.try_emplace({row.at("experiment"), row.at("group"), row.at("target")}, groups.size());
    if (is_new) groups.emplace_back();
    groups[found->second].push_back(&row);
  }
  Json out = Json::array();
  for (const Rows& group : groups) {
    if (group.size() > 1) out.push_back(summary_of(group));
  }
  return out;
}

}  // namespace thinpipe
