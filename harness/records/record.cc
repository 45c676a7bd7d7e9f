// SPDX-License-Identifier: Apache-2.0
#include "harness/records/record.hh"

#include <algorithm>
#include <fstream>
#include <map>

#include <fmt/format.h>

#include "common/support/file_descriptor.hh"
#include "common/support/parallel.hh"
#include "common/support/renamed_names.hh"
#include "common/support/standard_streams.hh"
#include "common/support/utf8.hh"
#include "harness/records/parsed_json.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

// Appends the places of the lines that are not empty. If the file cannot be read, appends the file itself, so
// that reading it reports the reason.
void append_lines(const fs::path& file, std::vector<RecordPlace>& places) {
  std::ifstream lines(file);
  std::uintmax_t offset_bytes = 0;
  std::string text;
  for (std::size_t line = 1; std::getline(lines, text); ++line) {
    if (!text.empty()) places.push_back({file, line, offset_bytes, text.size()});
    offset_bytes += text.size() + 1;
  }
  if (!lines.eof()) places.push_back({.file = file});
}

void append_records(const fs::path& folder, std::vector<RecordPlace>& places) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    fs::path file = entry.path() / record_name;
    if (entry.is_directory() && fs::exists(file)) files.push_back(std::move(file));
  }
  std::ranges::sort(files);
  for (fs::path& file : files) places.push_back({.file = std::move(file)});
  if (const fs::path file = folder / exported_records_name; fs::exists(file)) append_lines(file, places);
}

std::string read_place(const RecordPlace& place) {
  if (place.line == 0) return read_file(place.file);
  std::ifstream file(place.file);
  std::string text(place.size_bytes, '\0');
  file.seekg(static_cast<std::streamoff>(place.offset_bytes));
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file) throw Error("it can no longer be read");
  return text;
}

// Before version 3, networks were called faithful although nothing had filled their links.
void correct_verdict(Json& record) {
  if (!record.contains("fidelity")) return;
  Json& fidelity = record["fidelity"];
  if (!fidelity.is_object() || fidelity.value("verdict", Json()) != "faithful") return;
  for (const Json& check : fidelity.value("checks", Json::array())) {
    const Json name = check.is_object() ? check.value("name", Json()) : Json();
    const bool is_rate =
        name.is_string() && name.get<std::string>().starts_with("median rate while backlogged");
    if (is_rate && check.value("measured", Json()).is_null()) fidelity["verdict"] = "not judged";
  }
}

bool is_current(const ParsedJson& record) {
  const auto version = record.is_object() ? record.find("schema_version") : std::nullopt;
  return version && version->is_number() && version->get<double>() == record_schema_version;
}

// Reads a record of an older version, or one that simdjson refuses.
std::optional<Record> parse_other_text(const std::string& text, const std::string& name) {
  Json record = Json::parse(text, shallow, false);
  if (!record.is_object()) return std::nullopt;
  const Json version = record.value("schema_version", Json(nullptr));
  // As a double, because nlohmann's integers wrap around when compared.
  if (version.is_number() && version.get<double>() > record_schema_version) {
    throw Error(
        fmt::format("{} has schema_version {}, but this program reads versions up to {}; update thinpipe",
                    name, version.dump(), record_schema_version));
  }
  if (version.is_number() && version >= 1 && version < record_schema_version) {
    renamed_names().upgrade(record, "record");
    if (version < 3) correct_verdict(record);
    record["schema_version"] = record_schema_version;
  }
  return parse_record(record, name);
}

// The run and the experiment of a record that was taken, or the reason why it is left out.
struct Taken {
  std::optional<std::string> run_id = {};
  std::string experiment = {};
  std::string reason = {};
};

Taken read_and_take(const RecordPlace& place, const std::function<void(Record record)>& take) {
  try {
    std::optional<Record> record = find_record(place);
    if (!record) {
      return {.reason = fmt::format(
                  "it is not a complete record; {}",
                  place.line == 0 ? "remove its folder, or repeat the run" : "export the records again")};
    }
    Taken taken{.run_id = record->run_id, .experiment = record->experiment};
    take(*std::move(record));
    return taken;
  } catch (const InputError& error) {
    return {.reason = fmt::format("{} {}", error.place().pointer, error.message())};
  } catch (const std::exception& error) {
    return {.reason = error.what()};
  }
}

// Returns nullopt, with a warning, if a sweep has meanwhile removed or replaced one of the two.
std::optional<bool> are_equal(const RecordPlace& counted, const RecordPlace& place, const Warn& warn) {
  try {
    return find_record(counted) == find_record(place);
  } catch (const std::exception& error) {
    warn(fmt::format("{} is left out: it cannot be compared with another record of the same run, {}: {}",
                     place.name(), counted.name(), error.what()));
    return std::nullopt;
  }
}

}  // namespace

std::string record_text(const Json& record) {
  return record.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string record_line(const Json& record) {
  return record.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string RecordPlace::name() const {
  return line == 0 ? file.string() : fmt::format("{}:{}", file.string(), line);
}

fs::path RecordPlace::experiment_folder() const {
  return line == 0 ? file.parent_path().parent_path() : file.parent_path();
}

std::optional<Record> parse_record_text(const std::string& text, const std::string& name) {
  thread_local JsonParser parser;  // each has a buffer
  const auto parsed = parser.parse(text);
  return parsed && is_current(*parsed) ? record_of(*parsed, name) : parse_other_text(text, name);
}

std::optional<Record> find_record(const fs::path& path) {
  if (!fs::exists(path)) return std::nullopt;
  return parse_record_text(read_file(path), path.string());
}

std::optional<Record> find_record(const RecordPlace& place) {
  return parse_record_text(read_place(place), place.name());
}

void warn_on_standard_error(const std::string& message) {
  print_stderr("thinpipe: warning: {}\n", printable_lines(message));
}

std::vector<RecordPlace> find_records(const fs::path& results) {
  std::vector<RecordPlace> places;
  if (results.extension() == ".jsonl" && fs::is_regular_file(results)) {
    append_lines(results, places);
    return places;
  }
  if (!fs::is_directory(results)) {
    throw InputError({results, ""},
                     fmt::format("is neither a folder of results nor a file of exported records (*.jsonl){}",
                                 fs::exists(results) ? "" : ": it does not exist"));
  }
  append_records(results, places);
  std::vector<fs::path> experiments;
  for (const auto& entry : fs::directory_iterator(results)) {
    if (entry.is_directory()) experiments.push_back(entry.path());
  }
  std::ranges::sort(experiments);
  for (const fs::path& experiment : experiments) append_records(experiment, places);
  return places;
}

std::vector<std::size_t> read_records(const std::vector<RecordPlace>& places,
                                      const std::function<void(std::size_t index, Record record)>& take,
                                      const Warn& warn) {
  std::vector<Taken> taken(places.size());
  in_parallel(places.size(), [&](std::size_t i) {
    taken[i] = read_and_take(places[i], [&](Record record) { take(i, std::move(record)); });
  });
  std::vector<std::size_t> counted;
  std::map<std::string, std::vector<std::size_t>> of_run;  // those that count, by run id
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!taken[i].run_id) {
      warn(fmt::format("{} is left out: {}", places[i].name(), taken[i].reason));
      continue;
    }
    std::vector<std::size_t>& others = of_run[*taken[i].run_id];
    std::optional<bool> is_known = false;
    for (std::size_t k = 0; k < others.size() && is_known == false; ++k)
      is_known = are_equal(places[others[k]], places[i], warn);
    if (is_known != false) continue;
    const auto other = std::ranges::find_if(others, [&](std::size_t one) {
      return places[one].experiment_folder() == places[i].experiment_folder();
    });
    if (other != others.end()) {
      warn(fmt::format("{} is left out: {} is another record of the same run, {}", places[i].name(),
                       places[*other].name(), *taken[i].run_id));
      continue;
    }
    const auto repeated = std::ranges::find_if(
        others, [&](std::size_t one) { return taken[one].experiment == taken[i].experiment; });
    if (repeated != others.end()) {
      warn(
          fmt::format("{} and {} are different records of the same run, {}; both count, as if they had "
                      "different seeds",
                      places[*repeated].name(), places[i].name(), *taken[i].run_id));
    }
    others.push_back(i);
    counted.push_back(i);
  }
  return counted;
}

}  // namespace thinpipe
