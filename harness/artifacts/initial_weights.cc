#include "harness/artifacts/initial_weights.hh"

#include <utility>

#include "common/protocol/worker_file.hh"
#include "common/support/file_descriptor.hh"
#include "harness/plan/run_id.hh"
#include "harness/records/record.hh"

namespace thinpipe {

namespace fs = std::filesystem;

std::variant<Json, Outcome> InitialWeights::get_or_build(const Run& run, Executor& executor,
                                                         Progress& progress, const TimeLimits& limits) {
  if (run.runs_command()) return Json(nullptr);
  const Json& training_config = run.training->config;
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
  const Json of_run = decisive_part(run);
  for (const char* key : {"model", "dataset", "pretraining", "seed"}) decisive[key] = of_run.at(key);
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
    const JobObserver observer{.event =
                                   [&](std::int64_t /*rank*/, const Event& event) {
                                     if (const auto* each = std::get_if<event::Pretraining>(&event)) {
                                       progress.on_event(*each);
                                     }
                                     if (const auto* last = std::get_if<event::Pretrained>(&event)) {
                                       progress.on_event(*last);
                                       if (last->test_accuracy) accuracy = *last->test_accuracy;
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
        {"path", weights.string()}, {"hash", content_hash_of_file(weights)}, {"test_accuracy", accuracy}};
    write_atomically(
        about,
        record_text({{"schema_version", record_schema_version}, {"made_for", decisive}, {"weights", made}}));
    return made;
  };
  return weights_.get_or_build(name, progress, find, build);
}

}  // namespace thinpipe
