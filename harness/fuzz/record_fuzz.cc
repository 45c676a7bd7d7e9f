// SPDX-License-Identifier: Apache-2.0
#include "common/support/fuzz/input.hh"
#include "harness/records/record.hh"
#include "harness/reports/text.hh"

using namespace thinpipe;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::File file(data, size);
  return fuzz::expect_result_or_error([&] {
    const auto record = find_record(file.path());
    if (!record) return;
    const Json written = to_json(*record);
    // find_record reads current records by simdjson.
    const Json parsed = Json::parse(read_file(file.path()), shallow, false);
    if (parsed.value("schema_version", Json()) == record_schema_version)
      fuzz::require(parse_record(parsed) == *record, "both parsers read the same");
    fuzz::require(parse_record(written) == *record, "a record reads back as it was written");
    fuzz::require(Json::parse(record_text(written)) == written, "its text does, too");
    try {
      text_report(make_report({*record}));
    } catch (const Json::exception&) {
      // It has the form of a record, but its configuration is not as a trainer writes it.
    }
  });
}
