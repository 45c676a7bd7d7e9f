#include "harness/reports/html.hh"

#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "harness/reports/origin.hh"
#include "harness/reports/tables.hh"
#include "harness/reports/text.hh"
#include "page_files.hh"

namespace thinpipe {
namespace {

std::string in_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// JSON inside a script element: "<" occurs in strings alone, where it has another spelling, so that neither
// "</script>" nor "<!--" can end or change the element.
std::string embedded(const Json& value) {
  std::string out;
  for (const char c : value.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

// Replaces each {{name}} of the frame, once: what is put in is not looked at again.
std::string fill(std::string_view frame, const std::map<std::string, std::string, std::less<>>& parts) {
  std::string out;
  while (true) {
    const std::size_t begin = frame.find("{{");
    out += frame.substr(0, begin);
    if (begin == std::string_view::npos) return out;
    const std::size_t end = frame.find("}}", begin);
    out += parts.at(std::string(frame.substr(begin + 2, end - begin - 2)));
    frame.remove_prefix(end + 2);
  }
}

std::string html_table(const Table& table, std::string_view id, std::string_view caption) {
  std::string out = fmt::format("<div class=\"wide\"><table id=\"{}\"><caption>{}</caption>\n<thead><tr>", id,
                                in_html(caption));
  for (const Column& column : table.columns) {
    out += fmt::format("<th scope=\"col\" title=\"{}\">{}</th>", in_html(column.meaning),
                       in_html(column.heading));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const std::vector<Cell>& row : table.rows) {
    out += "<tr>";
    for (const Cell& cell : row) {
      const std::string_view tag = &cell == &row.front() ? "th scope=\"row\"" : "td";
      const std::string value = cell.value ? fmt::format(" data-value=\"{}\"", *cell.value) : "";
      out += fmt::format("<{}{}>{}</{}>", tag, value, in_html(cell.text), tag.substr(0, 2));
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string over_seeds(const Report& report) {
  if (report.over_seeds.empty()) return "";
  return fmt::format(
      "<section>\n<h2>Over seeds</h2>\n{}</section>\n",
      html_table(without_empty_columns(seeds_table(report.over_seeds)), "over-seeds", seeds_note));
}

std::string incomplete(const Origin& origin) {
  if (origin.incomplete.empty()) return "";
  std::string out = "<p>Not completed:</p>\n<ul id=\"incomplete\">\n";
  for (const std::string& line : origin.incomplete) out += fmt::format("<li>{}</li>\n", in_html(line));
  return out + "</ul>\n";
}

std::string origin_html(const Origin& origin) {
  std::string out;
  if (!origin.common.empty()) {
    out += "<dl>\n";
    for (const auto& [name, value] : origin.common)
      out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", in_html(name), in_html(value));
    out += "</dl>\n";
  }
  return out + html_table(origin.table, "origin", "What differs between the runs, and their fidelity");
}

// What the page's script draws, a run.
Json drawn(const Json& row, const Json& record, bool with_experiment) {
  Json out = {{"curve", record.at("curve")},
              {"iterations", record.value("iterations", Json(nullptr))},
              {"name", name_of(row, with_experiment)},
              {"series", label_without_seed(row)},
              {"target", nullptr}};
  for (const char* field : {"experiment", "group", "labels", "status", "fidelity", "reached",
                            "time_to_accuracy_s", "iterations_to_target", "sent_bytes_per_worker",
                            "bottleneck_wire_bytes", "iteration_time_s", "predicted"}) {
    out[field] = row.value(field, Json(nullptr));
  }
  if (with_experiment)
    out["series"] = fmt::format("{}: {}", row.at("experiment").get<std::string>(), label_without_seed(row));
  if (!row.at("target").is_null()) {
    const Target target = read_target(row.at("target"), {});
    out["target"] = {{"metric", name_of(target.metric)}, {"value", target.value}};
  }
  return out;
}

// Each in an element of its own: what is wrong in one does not keep the first from telling.
std::string scripts() {
  std::string out;
  for (const std::string_view script : {dom_js, chart_js, series_js, tables_js, page_js})
    out += fmt::format("<script>\n{}</script>\n", script);
  return out;
}

std::string title_of(const Json& rows) {
  std::set<std::string> experiments;
  for (const Json& row : rows) experiments.insert(row.at("experiment").get<std::string>());
  return fmt::format("{}", fmt::join(experiments, ", "));
}

std::string summary_of(const Json& rows) {
  std::set<std::string> modes;
  std::set<std::string> targets;
  for (const Json& row : rows) {
    modes.insert(row.at("mode").get<std::string>());
    if (!row.at("target").is_null()) targets.insert(target_text(row));
  }
  std::string out = fmt::format("{} {}, mode {}", rows.size(), rows.size() == 1 ? "run" : "runs",
                                fmt::join(modes, " and "));
  if (!targets.empty()) out += fmt::format(", target {}", fmt::join(targets, " and "));
  return out;
}

}  // namespace

std::string html_report(const Report& report, const std::vector<Json>& records) {
  Json runs = Json::array();
  const bool with_experiment = several_experiments(report.runs);
  for (std::size_t i = 0; i < records.size(); ++i)
    runs.push_back(drawn(report.runs[i], records[i], with_experiment));
  const Origin origin = origin_of(records, report.runs);
  return fill(page_html,
              {{"title", in_html(title_of(report.runs))},
               {"summary", in_html(summary_of(report.runs))},
               {"style", std::string(page_css)},
               {"runs", html_table(without_empty_columns(runs_table(report.runs)), "runs", "One row a run")},
               {"over_seeds", over_seeds(report)},
               {"incomplete", incomplete(origin)},
               {"origin", origin_html(origin)},
               {"version", THINPIPE_VERSION},
               {"data", embedded(Json{{"runs", runs}})},
               {"scripts", scripts()}});
}

}  // namespace thinpipe
