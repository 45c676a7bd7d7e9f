// SPDX-License-Identifier: Apache-2.0
#include "common/support/fuzz/input.hh"
#include "common/support/table.hh"
#include "common/support/utf8.hh"
#include "harness/reports/csv.hh"

using namespace thinpipe;

namespace {

// Returns the fields of the first row below the header, parsed by RFC 4180.
std::vector<std::string> first_row(const std::string& csv) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  std::size_t at = csv.find('\n') + 1;
  for (; at < csv.size() && (quoted || csv[at] != '\n'); ++at) {
    if (csv[at] == '"' && quoted && at + 1 < csv.size() && csv[at + 1] == '"') {
      fields.back() += csv[++at];
    } else if (csv[at] == '"') {
      quoted = !quoted;
    } else if (csv[at] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += csv[at];
    }
  }
  return fields;
}

}  // namespace

// A label may be any text. Checks its form in a terminal, a table and a spreadsheet.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string label(fuzz::text(data, size));
  const std::string shown = printable(label);
  fuzz::require(!find_invalid_utf8(shown), "what is shown is UTF-8");
  for (const char c : shown) {
    fuzz::require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f,
                  "what is shown has no control characters");
  }
  const std::string table = format_table({"run"}, {{label}});
  fuzz::require(std::count(table.begin(), table.end(), '\n') == 2, "a row is a line");
  const Json rows = Json::array({{{"experiment", "e"}, {"label", label}, {"labels", Json::object()}}});
  fuzz::require(first_row(csv_report(rows)).at(1) == label, "a spreadsheet reads the label as it is");
  return 0;
}
