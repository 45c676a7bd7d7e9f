// SPDX-License-Identifier: Apache-2.0
#include "harness/artifacts/initial_weights.hh"

#include <utility>

#include "common/protocol/worker_file.hh"
#include "common/support/file_descriptor.hh"
#include "harness/plan/run_id.hh"
#include "harness/records/record.hh"

namespace thinpipe {

namespace fs = std::filesystem;

namespace {

template <class T>
std::optional<T> member(const Json& object, const char* name) {
  const Json value = object.value(name, Json(nullptr));
  return value.is_null() ? std::nullopt : std::optional(value.get<T>());
}

// `made`: as in the file beside the weights. Older versions have no time, and a path, which is that of the folder
// before it was moved.
SharedWeights shared_weights(const Json& made, const fs::path& weights, const fs::path& folder) {
  return {.file = weights.string(),
          .about = {.path = (folder.filename() / weights.filename()).string(),
                    .hash = member<std::string>(made, "hash"),
                    .test_accuracy = member<double>(made, "test_accuracy")},
          .train_time_s = member<double>(made, "train_time_s")};
}

// Returns the settings that determine the weights of a run with pre-training.
Json pretraining_of(const Run& run) {
  const Json& training_config = run.training->config;
  const Json file = training_config.value(Json::json_pointer("/weights/file"), Json(nullptr));
  Json decisive;
  if (!file.is_null()) {
    decisive["weights"] = content_hash_of_file(file.get<std::string>());
    decisive["head"] = training_config.at("weights").at("head");
  }
  const Json of_run = decisive_part(run);
  for (const char* key : {"model", "dataset", "pretraining", "seed"}) decisive[key] = of_run.at(key);
  return decisive;
}

bool has_pretraining(const Run& run) {
  return !run.runs_command() && run.training->config.at("pretraining").at("iterations") != 0;
}

}  // namespace

std::optional<fs::path> InitialWeights::missing(const Run& run) const {
  if (!has_pretraining(run)) return std::nullopt;
  return weights_.missing(content_hash(pretraining_of(run).dump()) + ".pt");
}

std::variant<std::optional<SharedWeights>, Outcome> InitialWeights::get_or_build(const Run& run,
                                                                                 Executor& executor,
                                                                                 Progress& progress,
                                                                                 const TimeLimits& limits) {
  if (run.runs_command()) return std::nullopt;
  const Json& training_config = run.training->config;
  if (!has_pretraining(run)) {
    const Json file = training_config.value(Json::json_pointer("/weights/file"), Json(nullptr));
    if (file.is_null()) return std::nullopt;
    const std::string path = fs::absolute(file.get<std::string>());
    return SharedWeights{.file = path, .about = {.path = path, .hash = content_hash_of_file(path)}};
  }
  const Json decisive = pretraining_of(run);
  const std::string name = content_hash(decisive.dump());
  const fs::path& folder = weights_.folder();
  const fs::path weights = fs::absolute(folder / (name + ".pt"));
  const fs::path about = folder / (name + ".json");
  const auto find = [&]() -> std::optional<Json> {
    if (!fs::exists(weights) || !fs::exists(about)) return std::nullopt;
    Json made = Json::parse(read_file(about), shallow, false);
    return made.is_object() && made.contains("weights") ? std::optional(made.at("weights")) : std::nullopt;
  };
  const auto build = [&]() -> std::variant<Json, Outcome> {
    const fs::path input = fs::absolute(folder / (name + ".input.json"));
    write_atomically(
        input, record_text(to_json(PretrainFile{.output = weights.string(), .config = training_config})));
    Json accuracy = nullptr;
    Json train_time_s = nullptr;
    const JobObserver observer{.event =
                                   [&](std::int64_t /*rank*/, const Event& event) {
                                     if (const auto* each = std::get_if<event::Pretraining>(&event)) {
                                       progress.on_event(*each);
                                     }
                                     if (const auto* last = std::get_if<event::Pretrained>(&event)) {
                                       progress.on_event(*last);
                                       if (last->test_accuracy) accuracy = *last->test_accuracy;
                                       if (last->train_time_s) train_time_s = *last->train_time_s;
                                     }
                                   },
                               .tick = [&](WorkerControl&, Seconds) { progress.tick(); }};
    const fs::path log = folder / (name + ".log");
    Outcome outcome = executor.execute(
        {.workers = {{.command = "pretrain", .input = input, .log = log}}, .limits = limits}, observer);
    if (outcome.status == Outcome::Status::failed) {
      outcome.failure->message = "pre-training: " + outcome.failure->message;
    }
    if (outcome.status != Outcome::Status::completed) return outcome;
    const Json made = {
        {"hash", content_hash_of_file(weights)}, {"test_accuracy", accuracy}, {"train_time_s", train_time_s}};
    write_atomically(
        about,
        record_text({{"schema_version", record_schema_version}, {"made_for", decisive}, {"weights", made}}));
    return made;
  };
  auto shared = weights_.get_or_build(name, progress, find, build);
  if (auto* const untrained = std::get_if<Outcome>(&shared)) return *untrained;
  return shared_weights(std::get<Json>(shared), weights, folder);
}

}  // namespace thinpipe
