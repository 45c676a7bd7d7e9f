// SPDX-License-Identifier: Apache-2.0
// The schema of experiments and the trainer agree on every option. Each gets every kind of value
// that its description forbids, and both must refuse it.
#include <algorithm>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/file_descriptor.hh"
#include "common/support/tests/json_schema.hh"
#include "common/support/tests/paths.hh"
#include "harness/experiment/merge.hh"
#include "harness/plan/controller_options.hh"
#include "harness/plan/trainer_program.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const std::string trainer_path = built_program("thinpipe-trainer");
const std::string schema_path = built_program("experiment.schema.json");

const Json& described() {
  static const Json description = TrainerProgram(trainer_path).describe();
  return description;
}

std::vector<std::string> violations(const Json& experiment) {
  static const JsonSchema schema(parse_json_file(schema_path));
  return schema.violations(experiment);
}

// Returns a small configuration, into which tests put options.
Json small() {
  return {{"workers", 2},
          {"model", {{"name", "mlp"}, {"hidden", {2}}}},
          {"dataset",
           {{"name", "synthetic"},
            {"height", 4},
            {"width", 4},
            {"classes", 2},
            {"train_examples", 64},
            {"test_examples", 2}}},
          {"optimiser", {{"name", "sgd"}, {"momentum", 0}}},  // accepted by every method
          {"training", {{"batch_size_per_worker", 4}}}};
}

// Returns values of one element that its description forbids.
std::vector<Json> wrong_elements(const Json& field) {
  if (field.contains("any_of")) return {"text", true, {{"qqqqq", 1}}, -1};
  if (field.contains("options")) return {3, "text", {{"qqqqq", 1}}};
  const std::string type = field.at("type");
  if (type == "boolean") return {3, "true"};
  if (field.contains("unit"))
    return {3, "3", "3 parsec", fmt::format("many {}", field["unit"].get<std::string>())};
  if (type == "string")
    return field.contains("one_of") ? std::vector<Json>{3, "qqqqq"} : std::vector<Json>{3};
  std::vector<Json> out = {"3", true};
  if (type == "integer") out.emplace_back(1.5);
  const auto add = [&](double value) {
    out.push_back(type == "integer" ? Json(static_cast<std::int64_t>(value)) : Json(value));
  };
  if (field.contains("above")) add(field["above"]);
  if (field.contains("at_least")) add(field["at_least"].get<double>() - 1);
  if (field.contains("below")) add(field["below"]);
  if (field.contains("at_most")) add(field["at_most"].get<double>() + 1);
  return out;
}

std::vector<Json> wrong_values(const Json& field) {
  if (!field.value("list", false)) return wrong_elements(field);
  std::vector<Json> out = {3, Json::object()};
  for (const Json& element : wrong_elements(field)) out.push_back(Json::array({element}));
  return out;
}

class Spoiler {
 public:
  std::vector<Json> configurations;

  // Spoils each field of the object at `keys`, which also has the members of `beside`.
  void spoil(const Json& fields, const std::vector<std::string>& keys, const Json& beside) {
    add(keys, beside, "qqqqq", 1);
    for (const Json& field : fields) {
      const std::string key = field.at("key");
      if (field.contains("registry")) {
        std::vector<std::string> inside = keys;
        inside.push_back(key);
        for (const Json& value : {Json(3), Json("dense")}) add(keys, beside, key, value);
        spoil_registry(field, inside);
        continue;
      }
      for (const Json& value : wrong_values(field)) add(keys, beside, key, value);
      if (!field.contains("options") || field.value("list", false)) continue;
      std::vector<std::string> inside = keys;
      inside.push_back(key);
      spoil(field["options"], inside, Json::object());
    }
  }

 private:
  void spoil_registry(const Json& field, const std::vector<std::string>& keys) {
    const std::string selector = field["selector"];
    for (const Json& value : {Json(3), Json("qqqqq")}) add(keys, Json::object(), selector, value);
    for (const auto& [name, entry] : described().at(field["registry"].get<std::string>()).items()) {
      spoil(entry["options"], keys, {{selector, name}});
    }
  }

  void add(const std::vector<std::string>& keys, Json object, const std::string& key, const Json& value) {
    object[key] = value;
    Json config = small();
    merge(config, nested(keys, object));
    configurations.push_back(std::move(config));
  }
};

std::vector<CheckedConfig> checked(const std::vector<Json>& configs) {
  ConfigChecker checker{TrainerProgram(trainer_path)};
  std::vector<CheckedConfig> answers;
  for (const Json& config : configs) answers.push_back(checker.check(config.dump()));
  return answers;
}

TEST(ConfigurationSchema, RefusesWhatTheTrainerRefuses) {
  Spoiler spoiler;
  spoiler.spoil(described().at("configuration"), {}, Json::object());
  ASSERT_GT(spoiler.configurations.size(), 300);
  const auto answers = checked(spoiler.configurations);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Json& config = spoiler.configurations[i];
    EXPECT_FALSE(answers[i].ok) << "the trainer accepts " << config;
    EXPECT_FALSE(violations({{"base", config}}).empty())
        << "the schema accepts " << config << ", but the trainer reports: " << answers[i].wrong.pointer << ' '
        << answers[i].wrong.message;
  }
}

TEST(ConfigurationSchema, AcceptsEveryNormalForm) {
  std::vector<Json> configs;
  for (const Json& field : described().at("configuration")) {
    // Models, data sets and partitions must fit each other: see the test below.
    if (!field.contains("registry") || field["registry"] == "models" || field["registry"] == "datasets" ||
        field["registry"] == "partitions")
      continue;
    for (const auto& [name, entry] : described().at(field["registry"].get<std::string>()).items()) {
      Json object = {{field["selector"], name}};
      for (const Json& option : entry["options"]) {
        if (!option.value("required", false)) continue;
        const bool is_method = option.at("type") == "implementation";
        object[option["key"]] = is_method ? Json{{"name", "topk"}, {"ratio", 0.5}} : Json(0.5);
      }
      configs.push_back(small());
      configs.back()[field["key"].get<std::string>()] = object;
    }
  }
  configs.push_back(small());
  configs.back()["targets"] = {0.5, {{"test_loss", 1.5}}, {{"accuracy", 1}}};
  for (const CheckedConfig& answer : checked(configs)) {
    ASSERT_TRUE(answer.ok) << answer.wrong.pointer << ' ' << answer.wrong.message;
    EXPECT_THAT(violations({{"base", answer.config}}), IsEmpty()) << answer.config;
  }
}

TEST(ConfigurationSchema, LeavesNcclToTheMachine) {
  Json config = small();
  config["collective"] = {{"name", "nccl"}, {"all_reduce", "tree"}};
  EXPECT_THAT(violations({{"base", config}}), IsEmpty());
  const CheckedConfig answer = checked({config}).at(0);
  EXPECT_TRUE(answer.ok) << answer.wrong.message;
  for (const Remark& missing : answer.missing) EXPECT_EQ(missing.pointer, "/collective/name");
}

TEST(ConfigurationSchema, AcceptsEveryDefault) {
  for (const char* registry : {"models", "datasets", "partitions"}) {
    const std::string key = std::string(registry).substr(0, std::string(registry).size() - 1);
    for (const auto& [name, entry] : described().at(registry).items()) {
      Json object = {{"name", name}};
      for (const Json& option : entry["options"]) {
        object[option["key"]] = option.value("required", false) ? Json("required") : option["default"];
      }
      EXPECT_THAT(violations({{"base", {{key, object}}}}), IsEmpty()) << object;
    }
  }
}

// They are known only when the file is loaded.
TEST(ConfigurationSchema, AcceptsAnyOptionsOfImplementationsInPythonFiles) {
  const auto violations_of = [](const char* name) {
    const Json synchroniser = {{"name", name}, {"an_option", 1}};
    return violations({{"base", {{"synchroniser", synchroniser}}}});
  };
  EXPECT_THAT(violations_of("mine.py:Mine"), IsEmpty());
  EXPECT_THAT(violations_of("mine.py"), testing::Not(IsEmpty()));
  EXPECT_THAT(violations_of(".py:Mine"), testing::Not(IsEmpty()));
}

TEST(ConfigurationSchema, KnowsTheTrainersKeysAndNoOthers) {
  const CheckedConfig answer = checked({{{"workers", 1}, {"qqqqqqqqqqq", 1}}}).front();
  std::vector<std::string> read;
  std::istringstream known(answer.wrong.message.substr(answer.wrong.message.find("known: ") + 7));
  for (std::string key; std::getline(known >> std::ws, key, ',');) read.push_back(key);
  std::vector<std::string> keys;
  for (const Json& field : described().at("configuration")) keys.push_back(field["key"]);
  EXPECT_THAT(keys, testing::UnorderedElementsAreArray(read));
  std::vector<std::string> published;
  const Json schema = parse_json_file(schema_path);
  for (const auto& [key, unused] : schema["definitions"]["configuration"]["properties"].items()) {
    published.push_back(key);
  }
  read.insert(read.end(), controller_option_keys().begin(), controller_option_keys().end());
  std::erase(read, "workers");  // both read it
  read.emplace_back("workers");
  EXPECT_THAT(published, testing::UnorderedElementsAreArray(read));
}

TEST(ExperimentSchema, EveryShippedExperimentFollowsItAndNamesIt) {
  for (const auto& entry : std::filesystem::directory_iterator(source_path("experiments"))) {
    if (entry.is_directory()) continue;
    const Json experiment = parse_json_file(entry.path());
    EXPECT_THAT(violations(experiment), IsEmpty()) << entry.path();
    EXPECT_EQ(experiment.value("$schema", ""), "../build/release/experiment.schema.json") << entry.path();
    EXPECT_EQ(experiment.value("name", ""), entry.path().stem()) << entry.path();
  }
}

TEST(SchemaCommand, PrintsTheBuildsSchema) {
  const Program program(trainer_path);
  EXPECT_EQ(program.run({"schema", "experiment"}).output, read_file(schema_path));
  for (const std::string kind : {"topology", "record"}) {
    EXPECT_EQ(program.run({"schema", kind}).output,
              read_file(source_path("harness/schema/" + kind + ".schema.json")));
  }
}

TEST(SchemaCommand, KnowsWhatThereIs) {
  const Program program(trainer_path);
  const auto ended = program.run({"schema", "experiments"});
  EXPECT_EQ(ended.status.code, 2);
  EXPECT_THAT(ended.errors, HasSubstr("did you mean \"experiment\"?"));
}

}  // namespace
}  // namespace thinpipe
