// SPDX-License-Identifier: Apache-2.0
#include "harness/reports/json_lines.hh"

#include <string>

#include <fmt/format.h>

#include "common/support/file_descriptor.hh"

namespace thinpipe {

std::vector<Json> read_json_lines(const std::filesystem::path& path) {
  std::vector<Json> out;
  if (!std::filesystem::exists(path)) return out;
  const std::string text = read_file(path);
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    out.push_back(Json::parse(text.substr(begin, end - begin), nullptr, false));
    if (!out.back().is_object())
      throw InputError({fmt::format("{}:{}", path.string(), out.size()), ""}, "is not a JSON object");
  }
  return out;
}

}  // namespace thinpipe
