// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/html.hh"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "harness/plan/run_id.hh"
#include "harness/reports/origin.hh"
#include "harness/reports/page_data.hh"
#include "harness/reports/tables.hh"
#include "harness/reports/text.hh"
#include "page_files.hh"

namespace thinpipe {
namespace {

// Larger curves go into files beside the page, so that a browser reads only the curves that it draws.
constexpr std::size_t max_curves_in_page_bytes = 1'000'000;
constexpr const char* curves_ending = ".js";

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

// Writes JSON for a script element. Escapes "<", which occurs only in strings, so that neither "</script>"
// nor "<!--" can end or change the element.
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

// Encodes a file name, which may have any bytes, for a URL.
std::string in_address(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = byte < 0x80 && (std::isalnum(byte) != 0 ||
                                          std::string_view("-._~").find(c) != std::string_view::npos);
    out += is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return out;
}

// Replaces each {{name}} of the frame in one pass: inserted text is not searched again.
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

// Returns the text of a cell after its number, which may begin with the sign of a bound.
std::string_view unit_of(std::string_view text) {
  for (const std::string_view sign : {at_least, at_most}) {
    if (text.starts_with(sign)) text.remove_prefix(sign.size());
  }
  const std::size_t end = text.find_first_not_of("0123456789.+-e");
  return end == std::string_view::npos ? "" : text.substr(end);
}

// How the page's script sorts a column: by text, by the number at the beginning of the text, or, if units
// differ, by value.
enum class Order { text, number, value };

Order order_of(const Table& table, std::size_t column) {
  std::set<std::string_view> units;
  for (const std::vector<Cell>& row : table.rows) {
    if (row[column].value) units.insert(unit_of(row[column].text));
  }
  return units.empty() ? Order::text : units.size() == 1 ? Order::number : Order::value;
}

// Leaves out the end tags of cells and rows, as HTML allows: a page of thousands of rows is then half as
// long.
std::string html_table(const Table& table, std::string_view id, std::string_view caption) {
  std::string out = fmt::format("<div class=\"wide\"><table id=\"{}\"><caption>{}</caption>\n<thead><tr>", id,
                                in_html(caption));
  std::vector<Order> orders;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    orders.push_back(order_of(table, i));
    out += fmt::format("<th scope=\"col\"{} title=\"{}\">{}</th>",
                       orders[i] == Order::text ? "" : " data-numbers", in_html(column.meaning),
                       in_html(column.heading));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const std::vector<Cell>& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += i == 0 ? "<tr><th scope=\"row\"" : "<td";
      if (orders[i] == Order::value && row[i].value) out += fmt::format(" data-value={:.9g}", *row[i].value);
      out += '>';
      out += in_html(row[i].text);
    }
    out += "\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string over_seeds(const Report& report) {
  const Json repeated = with_several_runs(report.groups);
  if (repeated.empty()) return "";
  const Table table = seeds_table(repeated);
  return fmt::format("<section>\n<h2>Over seeds</h2>\n{}</section>\n",
                     html_table(without_empty_columns(table), "over-seeds", seeds_note(table, repeated)));
}

std::string html_list(const char* heading, const char* id, const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  std::string out = fmt::format("<p>{}:</p>\n<ul id=\"{}\">\n", heading, id);
  for (const std::string& line : lines) out += fmt::format("<li>{}</li>\n", in_html(line));
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
  return out + html_table(origin.table, "origin", "Differences between the runs, and their fidelity");
}

std::string inline_pieces(const std::vector<std::string>& pieces) {
  std::string out;
  for (std::size_t i = 0; i < pieces.size(); ++i)
    out += fmt::format("<script type=\"application/json\" id=\"curves-{}\">{}</script>\n", i, pieces[i]);
  return out;
}

std::string link_elements(const LinkHistories& links) {
  std::string out;
  for (const auto& [run, history] : links.of_runs)
    out += fmt::format("<script type=\"application/json\" id=\"links-{}\">{}</script>\n", run,
                       embedded(history));
  return out;
}

std::vector<CurvesFile> files_of(const std::vector<std::string>& pieces) {
  std::vector<CurvesFile> files;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    std::string text = fmt::format("takeCurves({}, {});\n", i, pieces[i]);
    files.push_back({fmt::format("{}{}", content_hash(text), curves_ending), std::move(text)});
  }
  return files;
}

// Returns each script in its own element, so that the first one can show an error in any other.
std::string scripts() {
  std::string out;
  for (const std::string_view script :
       {dom_js, chart_js, styles_js, series_js, curves_js, links_js, tables_js, page_js})
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

Page html_report(const Report& report, const std::string& curves_folder, const LinkHistories& links) {
  const std::vector<std::string> pieces = curve_pieces(report.digests);
  std::size_t curves_bytes = 0;
  for (const std::string& piece : pieces) curves_bytes += piece.size();
  Page page;
  if (curves_bytes > max_curves_in_page_bytes) page.curves = files_of(pieces);
  Json files = Json::array();
  for (const CurvesFile& file : page.curves) files.push_back(file.name);
  Json data = page_data(report);
  data["links_left_out"] = links.left_out;
  data["curves"] = {{"runs", runs_per_piece}, {"folder", in_address(curves_folder)}, {"files", files}};
  const Origin origin = origin_of(report);
  page.html =
      fill(page_html,
           {{"title", in_html(title_of(report.runs))},
            {"summary", in_html(summary_of(report.runs))},
            {"style", std::string(page_css)},
            {"may_load", page.curves.empty() ? "" : " 'self' file:"},
            {"runs", html_table(without_empty_columns(runs_table(report.runs)), "runs", "One row per run")},
            {"over_seeds", over_seeds(report)},
            {"incomplete", html_list("Not completed", "incomplete", origin.incomplete) +
                               html_list("Warnings", "warnings", warnings_of(report.runs))},
            {"origin", origin_html(origin)},
            {"version", THINPIPE_VERSION},
            {"data", embedded(data)},
            {"method_styles", embedded(Json::parse(method_styles_json))},
            {"curves", page.curves.empty() ? inline_pieces(pieces) : ""},
            {"links", link_elements(links)},
            {"scripts", scripts()}});
  return page;
}

bool is_curves_file(const std::string& name) {
  constexpr std::size_t hash_length = 16;
  return name.size() == hash_length + std::string_view(curves_ending).size() &&
         name.ends_with(curves_ending) && name.find_first_not_of("0123456789abcdef") == hash_length;
}

}  // namespace thinpipe
