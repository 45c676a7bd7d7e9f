#include "harness/records/record.hh"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "common/support/file_descriptor.hh"
#include "common/support/standard_streams.hh"
#include "common/support/utf8.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

// Returns whether the value has the members of a record, with their types.
bool is_record(const Json& value) {
  using Type = Json::value_t;
  static const std::map<std::string, std::vector<Type>> members = {
      {"schema_version", {Type::number_unsigned}},
      {"run_id", {Type::string}},
      {"status", {Type::string}},
      {"experiment", {Type::string}},
      {"mode", {Type::string}},
      {"label", {Type::string}},
      {"labels", {Type::object}},
      {"error", {Type::object, Type::null}},
      {"config", {Type::object}},
      {"plan", {Type::object}},
      {"provenance", {Type::object}},
      {"curve", {Type::array}},
      {"targets", {Type::array}},
      {"traffic", {Type::object}},
      {"train_time_s", {Type::number_float, Type::number_unsigned, Type::null}},
      {"iteration_time_s", {Type::object, Type::null}},
      {"fidelity", {Type::object, Type::null}}};
  return value.is_object() && std::ranges::all_of(members, [&value](const auto& member) {
           const auto found = value.find(member.first);
           return found != value.end() &&
                  std::ranges::find(member.second, found->type()) != member.second.end();
         });
}

void append_records(const fs::path& folder, std::vector<fs::path>& files) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    fs::path file = entry.path() / "run.json";
    if (entry.is_directory() && fs::exists(file)) files.push_back(std::move(file));
  }
}

}  // namespace

std::string record_text(const Json& record) {
  return record.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<Json> find_record(const fs::path& path) {
  if (!fs::exists(path)) return std::nullopt;
  Json record = Json::parse(read_file(path), shallow, false);
  const Json version = record.is_object() ? record.value("schema_version", Json(nullptr)) : Json(nullptr);
  // As a double, because nlohmann's integers wrap around when compared.
  if (version.is_number() && version.get<double>() > record_schema_version) {
    throw Error(
        fmt::format("{} has schema_version {}, but this program reads versions up to {}; update thinpipe",
                    path.string(), version.dump(), record_schema_version));
  }
  return is_record(record) ? std::optional(std::move(record)) : std::nullopt;
}

void warn_on_standard_error(const std::string& message) {
  print_stderr("thinpipe: warning: {}\n", printable_lines(message));
}

std::vector<fs::path> find_records(const fs::path& folder) {
  if (!fs::is_directory(folder)) throw InputError({folder, ""}, "is not a folder of results");
  std::vector<fs::path> files;
  append_records(folder, files);
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) append_records(entry.path(), files);
  }
  return files;
}

}  // namespace thinpipe
