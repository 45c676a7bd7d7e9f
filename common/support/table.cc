// SPDX-License-Identifier: Apache-2.0
#include "common/support/table.hh"

#include <algorithm>

#include "common/support/utf8.hh"

namespace thinpipe {
namespace {

// Columns on a terminal: bytes of UTF-8 that do not continue a character.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

std::string format_table(const std::vector<std::string>& header,
                         const std::vector<std::vector<std::string>>& written_rows) {
  // Labels are the users' own text and may contain control characters.
  std::vector<std::vector<std::string>> rows = written_rows;
  for (auto& row : rows)
    std::ranges::transform(row, row.begin(), [](const std::string& cell) { return printable(cell); });
  std::vector<std::size_t> widths(header.size());
  const auto measure = [&widths](const std::vector<std::string>& row) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  };
  measure(header);
  for (const auto& row : rows) measure(row);
  std::string out;
  const auto print = [&](const std::vector<std::string>& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - width(row[i]), ' ');
      out += i == 0 ? row[i] + padding : "  " + padding + row[i];
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  };
  print(header);
  for (const auto& row : rows) print(row);
  return out;
}

}  // namespace thinpipe
