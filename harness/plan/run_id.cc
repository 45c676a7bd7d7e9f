// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/run_id.hh"

#include <memory>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"
#include "common/support/renamed_names.hh"

namespace thinpipe {
namespace {

constexpr std::size_t hashed_at_once_bytes = std::size_t{1} << 20;

// The complete, unchanged Fashion-MNIST counts as the path of Debian's folder, wherever it is: older versions
// hashed this path instead of the content, and the ids of their results stay valid.
constexpr std::string_view fashion_mnist_hash = "a6c1037f5caea982";
constexpr std::string_view fashion_mnist_name = "/usr/share/datasets/fashion-mnist";

std::string name_of_content(const std::string& hash) {
  return hash == fashion_mnist_hash ? std::string(fashion_mnist_name) : hash;
}

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

}  // namespace

std::string content_hash(std::string_view bytes) {
  return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
}

std::string content_hash_of_file(const std::filesystem::path& path) {
  const FileDescriptor file = open_regular_file(path);
  const std::unique_ptr<XXH3_state_t, FreeState> state(XXH3_createState());
  XXH3_64bits_reset(state.get());
  std::vector<char> piece(hashed_at_once_bytes);
  while (const auto got =
             system_call("read " + path.string(), ::read(file.get(), piece.data(), piece.size()))) {
    XXH3_64bits_update(state.get(), piece.data(), static_cast<std::size_t>(got));
  }
  return fmt::format("{:016x}", XXH3_64bits_digest(state.get()));
}

namespace {

// An option that a method did not have when results were published, and its value that changes nothing.
struct LaterOption {
  std::string method;
  std::string option;
  Json unchanged;
};

const std::vector<LaterOption> later_options = {
    {"dgc", "sparsifier", "top_k"}, {"gmc", "sparsifier", "top_k"},  {"gmc", "detached", 0.0},
    {"gmc", "scope", "bucket"},     {"ok_topk", "indices", "u32"},   {"spardl", "indices", "u32"},
    {"iwp", "alpha", 0.01},         {"ok_topk", "vectors", "dense"}, {"sbc", "vectors", "dense"},
    {"spardl", "vectors", "dense"}, {"spardl", "teams", 1},          {"topk", "vectors", "dense"}};

// Returns whether the object has this member with this value. Records of other programs may have any other in its place.
bool has(const Json& object, const std::string& key, const Json& value) {
  const auto found = object.find(key);
  return found != object.end() && *found == value;
}

// Returns the member if it is an object; otherwise nullptr.
Json* object_in(Json& parent, const char* key) {
  const auto found = parent.find(key);
  return found != parent.end() && found->is_object() ? &*found : nullptr;
}

// Also of the method that this one wraps, if it does.
void drop_later_options(Json& synchroniser) {
  for (const LaterOption& later : later_options) {
    if (has(synchroniser, "name", later.method) && has(synchroniser, later.option, later.unchanged))
      synchroniser.erase(later.option);
  }
  if (Json* const inner = object_in(synchroniser, "inner")) drop_later_options(*inner);
}

// Removes options that were added after results were published, if they change nothing: old ids stay valid.
void drop_what_came_later(Json& decisive) {
  decisive.erase("hold");  // decides how a curve is read, not what it is
  // Before, every trace used the wall clock.
  if (Json* const trace = object_in(decisive, "rate_trace"); trace && has(*trace, "clock", "wall"))
    trace->erase("clock");
  // Ids from before partitions existed stay valid: iid is how all workers shared the examples then.
  if (Json* const partition = object_in(decisive, "partition"); partition && has(*partition, "name", "iid"))
    decisive.erase("partition");
  // Before, evaluations always took rank 0's.
  Json* const training = object_in(decisive, "training");
  if (training && has(*training, "running_statistics", "rank_0")) training->erase("running_statistics");
  Json* const synchroniser = object_in(decisive, "synchroniser");
  if (synchroniser == nullptr) return;
  const auto clip = synchroniser->find("clip");
  const bool is_clipped = has(*synchroniser, "values", "ternary") &&
                          !has(*synchroniser, "error_feedback", true) && clip != synchroniser->end() &&
                          clip->is_number() && *clip > 0;
  if (has(*synchroniser, "name", "pactrain") && !is_clipped) synchroniser->erase("clip");
  drop_later_options(*synchroniser);
}

}  // namespace

Json decisive_part(Json normalised_config, const Json& content) {
  Json decisive = std::move(normalised_config);
  if (const auto topology = decisive.find("topology"); topology != decisive.end() && topology->is_object()) {
    topology->erase("name");
    topology->erase("description");
  }
  if (const auto trace = decisive.find("rate_trace"); trace != decisive.end() && trace->is_object()) {
    trace->erase("file");  // the member "steps_hash" stands for its content
  }
  if (const auto trainer = decisive.find("trainer"); trainer != decisive.end() && trainer->is_object()) {
    if (trainer->contains("inputs_hash")) trainer->erase("inputs");
  }
  drop_what_came_later(decisive);
  for (const auto& [pointer, hash] : content.items()) {
    if (hash.is_null()) continue;  // the file is missing: its path stands for it
    decisive[Json::json_pointer(pointer)] = name_of_content(hash.get<std::string>());
  }
  return renamed_names().with_first_names(std::move(decisive));
}

MemberTexts member_texts(const Json& object) {
  MemberTexts texts;
  for (const auto& [key, value] : object.items()) {
    texts.emplace(key, fmt::format("{}:{}", Json(key).dump(), value.dump()));
  }
  return texts;
}

std::string run_id_of(const MemberTexts& decisive) {
  std::string object = "{";
  for (const auto& [key, text] : decisive) {
    if (object.size() > 1) object += ',';
    object += text;
  }
  return content_hash(object + '}');
}

std::string run_id(const Json& normalised_config, const Json& content) {
  return run_id_of(member_texts(decisive_part(normalised_config, content)));
}

}  // namespace thinpipe
