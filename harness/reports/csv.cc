// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/csv.hh"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace thinpipe {
namespace {

using Line = std::map<std::string, std::string>;  // column: value

std::string text_of(const Json& value) {
  if (value.is_null() || value == Json::array()) return "";
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void flatten(const Json& object, const std::string& prefix, Line& line) {
  for (const auto& [name, value] : object.items()) {
    const std::string column = prefix + name;
    if (value.is_object()) {
      flatten(value, column + ".", line);
    } else {
      line[column] = text_of(value);
    }
  }
}

Line flat(Json row) {
  Line line;
  flatten(row.at("labels"), "label.", line);
  row.erase("labels");
  flatten(row, "", line);
  return line;
}

// Returns 0 for columns that name the run, 1 for all others.
int place(const std::string& column) {
  return column == "experiment" || column == "label" || column.starts_with("label.") ? 0 : 1;
}

std::vector<std::string> columns_of(const std::vector<Line>& lines) {
  std::set<std::string> names;
  for (const Line& line : lines) {
    for (const auto& [name, value] : line) names.insert(name);
  }
  // A member that is an object in some rows and null in others has no column of its own.
  std::vector<std::string> columns;
  for (const std::string& name : names) {
    const bool has_value = std::ranges::any_of(
        lines, [&](const Line& line) { return line.contains(name) && !line.at(name).empty(); });
    const auto below = names.lower_bound(name + ".");
    const bool is_object = below != names.end() && below->starts_with(name + ".");
    if (has_value || !is_object) columns.push_back(name);
  }
  std::ranges::stable_sort(columns, {}, place);
  return columns;
}

std::string quoted(const std::string& value) {
  if (value.find_first_of(",\"\r\n") == std::string::npos) return value;
  std::string out = "\"";
  for (const char c : value) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

}  // namespace

std::string csv_report(const Json& rows) {
  std::vector<Line> lines;
  for (const Json& row : rows) lines.push_back(flat(row));
  const std::vector<std::string> columns = columns_of(lines);
  std::vector<std::string> fields;
  for (const std::string& column : columns) fields.push_back(quoted(column));
  std::string out = fmt::format("{}\n", fmt::join(fields, ","));
  for (const Line& line : lines) {
    fields.clear();
    for (const std::string& column : columns) {
      const auto found = line.find(column);
      fields.push_back(found == line.end() ? "" : quoted(found->second));
    }
    out += fmt::format("{}\n", fmt::join(fields, ","));
  }
  return out;
}

}  // namespace thinpipe
