// SPDX-License-Identifier: Apache-2.0
// Records on disk: results/<experiment>/<run_id>/run.json, or a line each of an exported file, records.jsonl.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/support/atomic_file.hh"
#include "harness/records/record_data.hh"

namespace thinpipe {

// The record of a run, in a folder of its own.
inline constexpr auto record_name = "run.json";

// The exported records in a results folder, instead of or beside the folders of runs.
inline constexpr auto exported_records_name = "records.jsonl";

// Returns the text of a record. Bytes that are not UTF-8, such as in lines of a log, are replaced.
std::string record_text(const Json& record);

// Returns the same as one compact line with sorted keys, line feed included.
std::string record_line(const Json& record);

// Where a record is: a whole file, or a line of one.
struct RecordPlace {
  std::filesystem::path file;
  std::size_t line = 0;  // counted from 1; 0: the whole file
  std::uintmax_t offset_bytes = 0;
  std::size_t size_bytes = 0;

  // Returns FILE or FILE:LINE, for messages.
  std::string name() const;
  // Returns the folder of the experiment's results, in which each run has one record.
  std::filesystem::path experiment_folder() const;
};

// Reads one record. Returns nullopt if the text is not a JSON object, such as one that is cut short, or the file is
// missing. Throws InputError as parse_record does, and Error if the schema version is newer. Records of older
// versions get the current names and version. `name`: of the file, for messages.
std::optional<Record> parse_record_text(const std::string& text, const std::string& name);
std::optional<Record> find_record(const std::filesystem::path& path);
std::optional<Record> find_record(const RecordPlace& place);

using Warn = std::function<void(const std::string& message)>;
void warn_on_standard_error(const std::string& message);

// Returns the places of the records of `results`, in the same order every time. In a folder, these are the
// files <run_id>/run.json and the lines of records.jsonl, directly and one level further (<experiment>/).
// `results` may also be a file of exported records, *.jsonl. Throws InputError if it is anything else.
std::vector<RecordPlace> find_records(const std::filesystem::path& results);

// Reads the records at `places`, several at a time, and passes each with its index to `take`. Returns the
// indices of those that count, in order. Leaves out, with a warning, those that find_record does not return,
// and those for which `take` throws. Of two records of a run in one
// experiment's folder the first counts, and of two that a sweep removes or replaces meanwhile. Equal records count
// once, without a warning. Two of one experiment in different folders both count, with a warning.
std::vector<std::size_t> read_records(const std::vector<RecordPlace>& places,
                                      const std::function<void(std::size_t index, Record record)>& take,
                                      const Warn& warn);

}  // namespace thinpipe
