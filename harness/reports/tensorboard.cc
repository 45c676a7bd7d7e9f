// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/tensorboard.hh"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <set>

#include <boost/date_time/posix_time/posix_time.hpp>
#include <fmt/format.h>

#include "harness/records/record.hh"
#include "harness/reports/event_file.hh"
#include "harness/reports/tables.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

// TensorBoard reads every file whose name contains "tfevents". The name is always the same, so that an export
// replaces the previous one instead of mixing with it.
constexpr const char* file_name = "events.out.tfevents.thinpipe";
constexpr std::size_t max_name_bytes = 150;  // file systems allow 255 bytes, and a run_id may follow

// Converts "2026-11-21T22:06:26.011Z" to seconds since 1970; returns 0 if the record has no start time.
double started_at_s(const std::string& text, const std::string& run_id) {
  if (text.empty()) return 0;
  namespace pt = boost::posix_time;
  try {
    const pt::ptime start = pt::from_iso_extended_string(text.substr(0, text.find('Z')));
    return static_cast<double>((start - pt::from_time_t(0)).total_microseconds()) * 1e-6;
  } catch (const std::exception&) {
    throw Error(fmt::format("the record of run {} has {} as its start, which is not a time", run_id,
                            Json(text).dump()));
  }
}

// Returns a file name that is never "", "." or "..", and never a path.
std::string safe_name(const std::string& label) {
  std::string out;
  for (const char c : label.substr(0, max_name_bytes)) {
    const bool is_safe = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                         std::string_view("+-.=@").find(c) != std::string_view::npos;
    out += is_safe ? c : '_';
  }
  if (out.empty() || out.front() == '.') out.insert(0, "_");
  return out;
}

std::string events_of(const std::vector<record::CurvePoint>& curve, double start_s) {
  EventFile file(start_s);
  for (const record::CurvePoint& point : curve) {
    // A convergence run has no train time.
    file.add(start_s + point.train_time_s.value_or(0), point.iteration,
             evaluation_scalars(point.test_accuracy, point.test_loss, point.train_loss));
  }
  return file.bytes();
}

}  // namespace

fs::path EventFilePaths::of(const fs::path& folder, const std::string& label, const std::string& run_id) {
  const std::string name = safe_name(label);
  fs::path own = folder / name;
  for (int copy = 1; !taken_.insert(own).second; ++copy)
    own = folder /
          (copy == 1 ? fmt::format("{}-{}", name, run_id) : fmt::format("{}-{}-{}", name, run_id, copy));
  return own / file_name;
}

std::vector<Scalar> evaluation_scalars(std::optional<double> test_accuracy, std::optional<double> test_loss,
                                       std::optional<double> train_loss) {
  std::vector<Scalar> scalars;
  const auto add = [&scalars](const char* tag, std::optional<double> value) {
    if (value) scalars.push_back({tag, *value});
  };
  add("test_accuracy", test_accuracy);
  add("test_loss", test_loss);
  add("train_loss", train_loss);
  return scalars;
}

void write_event_file(const Record& record, const fs::path& file) {
  const double start_s = started_at_s(record.provenance.value("started_at", std::string()), record.run_id);
  fs::create_directories(file.parent_path());
  write_atomically(fs::absolute(file), events_of(record.curve, start_s));
}

std::vector<fs::path> write_tensorboard(const Report& report, const fs::path& folder) {
  const bool with_experiment = several_experiments(report.runs);
  EventFilePaths paths;
  std::vector<fs::path> written;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const Json& row = report.runs[i];
    const fs::path above =
        with_experiment ? folder / safe_name(row.at("experiment").get<std::string>()) : folder;
    const auto run_id = row.at("run_id").get<std::string>();
    written.push_back(paths.of(above, row.at("label").get<std::string>(), run_id));
    fs::create_directories(written.back().parent_path());
    write_atomically(fs::absolute(written.back()),
                     events_of(report.digests[i].curve, started_at_s(report.digests[i].started_at, run_id)));
  }
  return written;
}

}  // namespace thinpipe
