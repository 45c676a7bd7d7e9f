// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/worker_file.hh"

namespace thinpipe {

void to_json(Json& out, ComputeEmulation compute_emulation) {
  out = compute_emulation == ComputeEmulation::busy ? "busy" : "sleep";
}

void read_value(const Json& value, const Place& place, const Rule& rule, ComputeEmulation& out) {
  std::string name;
  read_value(value, place, rule, name);
  out = name == "busy" ? ComputeEmulation::busy : ComputeEmulation::sleep;
}

template <WorkerFile File>
Json to_json(const File& file) {
  Json out = write_options(file);
  out["schema_version"] = worker_file_schema_version;
  // These members are left out instead of null or empty: readers test whether they are present.
  for (const char* const key : {"method", "hook", "batch_size_per_worker", "interruption"}) {
    if (const auto member = out.find(key); member != out.end() && member->is_null()) out.erase(member);
  }
  if (const auto places = out.find("rendezvous_addresses"); places != out.end() && places->empty())
    out.erase(places);
  return out;
}

template <WorkerFile File>
File parse_worker_file(const Json& value, const std::string& path) {
  JsonObject object(value, {path, ""});
  std::int64_t schema_version = 0;
  object.read(
      "schema_version", schema_version,
      {.at_least = worker_file_schema_version, .at_most = worker_file_schema_version, .required = true});
  auto file = read_options<File>(object);
  object.finish();
  const Place parents = object.place_of("reduction_tree");
  if constexpr (requires { file.group_options; }) {
    check_tree(file.group_options.reduction_tree, file.group_options.world_size, parents);
  } else if constexpr (requires { file.reduction_tree; }) {
    check_tree(file.reduction_tree, std::ssize(file.reduction_tree), parents);
  }
  return file;
}

template Json to_json(const WorkFile&);
template Json to_json(const ProfileFile&);
template Json to_json(const ReplayFile&);
template Json to_json(const ConvergeFile&);
template Json to_json(const PretrainFile&);
template Json to_json(const EstimateFile&);
template Json to_json(const MeasureFile&);

template WorkFile parse_worker_file(const Json&, const std::string&);
template ProfileFile parse_worker_file(const Json&, const std::string&);
template ReplayFile parse_worker_file(const Json&, const std::string&);
template ConvergeFile parse_worker_file(const Json&, const std::string&);
template PretrainFile parse_worker_file(const Json&, const std::string&);
template EstimateFile parse_worker_file(const Json&, const std::string&);
template MeasureFile parse_worker_file(const Json&, const std::string&);

}  // namespace thinpipe
