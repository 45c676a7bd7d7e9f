#include "harness/starting_weights.hh"

#include <utility>

#include "harness/lock_file.hh"
#include "harness/record.hh"
#include "harness/run_id.hh"
#include "harness/support/file_descriptor.hh"

namespace thinpipe {

namespace fs = std::filesystem;

namespace {

// What a writer that was killed left: its temporary files, ".NAME.json.PID.tmp" and "NAME.pt.PID.tmp".
void remove_leftovers(const fs::path& folder, const std::string& name) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string file = entry.path().filename();
    if (file.ends_with(".tmp") && file.find(name) <= 1) fs::remove(entry.path());
  }
}

}  // namespace

std::variant<Json, Outcome> StartingWeights::obtain(const Run& run, Executor& executor, Progress& progress,
                                                    std::chrono::duration<double> stall_timeout) {
  const Json& training_config = run.training_config;
  const Json file = training_config.value(Json::json_pointer("/weights/file"), Json(nullptr));
  Json decisive;
  if (!file.is_null()) decisive["weights"] = content_hash_of_file(file.get<std::string>());
  if (training_config.at("pretraining").at("iterations") == 0) {
    if (file.is_null()) return Json(nullptr);
    return Json{{"path", fs::absolute(file.get<std::string>()).string()},
                {"hash", decisive["weights"]},
                {"test_accuracy", nullptr}};
  }
  if (!file.is_null()) decisive["head"] = training_config.at("weights").at("head");
  for (const char* key : {"model", "dataset", "pretraining", "seed"}) decisive[key] = run.decisive.at(key);
  const std::string name = content_hash(decisive.dump());
  const fs::path weights = fs::absolute(folder_ / (name + ".pt"));
  const fs::path about = folder_ / (name + ".json");
  const auto kept = [&]() -> std::optional<Json> {
    if (!fs::exists(weights) || !fs::exists(about)) return std::nullopt;
    Json made = Json::parse(read_file(about), shallow, false);
    return made.is_object() && made.contains("weights") ? std::optional(std::move(made)) : std::nullopt;
  };
  const std::optional<Json> before = kept();
  const bool trusted = !fresh_ || made_.contains(name);
  if (trusted && before) return before->at("weights");

  fs::create_directories(folder_);
  const fs::path lock_path = folder_ / (name + ".lock");
  const auto lock = LockFile::wait_for(lock_path, [&] {
    progress.wait("waiting for starting weights from " + LockFile::holder(lock_path));
    return stop_.requested();
  });
  if (!lock) return Outcome{Outcome::Status::interrupted};
  // Whoever held it may have made them.
  if (const auto now = kept(); now && now != before) {
    made_.insert(name);
    return now->at("weights");
  }
  remove_leftovers(folder_, name);
  const fs::path input = fs::absolute(folder_ / (name + ".input.json"));
  write_atomically(input, record_text({{"schema_version", record_schema_version},
                                       {"config", training_config},
                                       {"output", weights.string()}}));
  Json accuracy = nullptr;
  const JobObserver observer{.event =
                                 [&](std::int64_t /*rank*/, const Json& event) {
                                   progress.hear(event);
                                   if (event.contains("test_accuracy")) accuracy = event["test_accuracy"];
                                 },
                             .tick = [&](WorkerControl&) { progress.tick(); }};
  const fs::path log = folder_ / (name + ".log");
  Outcome outcome = executor.execute(
      {.workers = {{.command = "pretrain", .input = input, .log = log}}, .stall_timeout = stall_timeout},
      observer);
  if (outcome.status == Outcome::Status::failed) {
    outcome.failure->message = "pre-training: " + outcome.failure->message;
  }
  if (outcome.status != Outcome::Status::completed) return outcome;
  const Json made = {
      {"path", weights.string()}, {"hash", content_hash_of_file(weights)}, {"test_accuracy", accuracy}};
  write_atomically(
      about,
      record_text({{"schema_version", record_schema_version}, {"made_for", decisive}, {"weights", made}}));
  made_.insert(name);
  return made;
}

}  // namespace thinpipe
