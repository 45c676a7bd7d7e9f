#include "harness/record.hh"

#include <algorithm>
#include <cstdio>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "harness/support/file_descriptor.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

// A file that disappears unless it is renamed in time.
class TemporaryFile {
 public:
  explicit TemporaryFile(fs::path path)
      : path_(std::move(path)), fd_(FileDescriptor::open(path_, O_WRONLY | O_CREAT | O_TRUNC)) {}
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(const std::string& text) {
    write_all(fd_, text, "write " + path_.string());
    system_call("flush " + path_.string(), ::fsync(fd_.get()));
  }

  void rename(const fs::path& target) {
    system_call(fmt::format("rename {} to {}", path_.string(), target.string()),
                ::rename(path_.c_str(), target.c_str()));
    path_.clear();
  }

 private:
  fs::path path_;
  FileDescriptor fd_;
};

void append_records(const fs::path& folder, std::vector<Json>& records) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path file = entry.path() / "run.json";
    if (entry.is_directory() && fs::exists(file)) records.push_back(load_record(file));
  }
}

std::string started_at(const Json& record) {
  return record.value(Json::json_pointer("/provenance/started_at"), std::string());
}

}  // namespace

void write_atomically(const fs::path& path, const std::string& text) {
  TemporaryFile temporary(path.parent_path() /
                          fmt::format(".{}.{}.tmp", path.filename().string(), ::getpid()));
  temporary.write(text);
  temporary.rename(path);
  const FileDescriptor folder = FileDescriptor::open(path.parent_path(), O_RDONLY | O_DIRECTORY);
  system_call("flush " + path.parent_path().string(), ::fsync(folder.get()));
}

std::string record_text(const Json& record) {
  return record.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<Json> find_record(const fs::path& path) {
  if (!fs::exists(path)) return std::nullopt;
  Json record = Json::parse(read_file(path), nullptr, false);
  const Json version = record.is_object() ? record.value("schema_version", Json(nullptr)) : Json(nullptr);
  if (!version.is_number_integer()) return std::nullopt;
  if (version > record_schema_version) {
    throw Error(
        fmt::format("{} has schema_version {}, but this program knows versions up to {}; update thinpipe",
                    path.string(), version.dump(), record_schema_version));
  }
  return record;
}

Json load_record(const fs::path& path) {
  if (auto record = find_record(path)) return *std::move(record);
  throw Error(fmt::format("{} is not a record of a run; remove it, or its folder", path.string()));
}

std::vector<Json> load_records(const fs::path& folder) {
  if (!fs::is_directory(folder)) throw InputError({folder, ""}, "is not a folder of results");
  std::vector<Json> records;
  append_records(folder, records);
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) append_records(entry.path(), records);
  }
  if (records.empty()) {
    throw InputError({folder, ""}, "holds no records; give it a folder that `thinpipe run` wrote");
  }
  std::ranges::stable_sort(records, {}, started_at);
  return records;
}

}  // namespace thinpipe
