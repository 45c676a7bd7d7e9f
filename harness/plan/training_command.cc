// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/training_command.hh"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/support/target.hh"
#include "harness/experiment/number_pattern.hh"
#include "harness/experiment/placeholders.hh"
#include "harness/plan/controller_options.hh"
#include "harness/plan/script_inputs.hh"

namespace thinpipe {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view own_placeholders[] = {"method", "seed", "rank", "world_size"};

std::string as_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// Returns the values of the placeholders.
std::map<std::string, std::string> values_of(const ExternalTrainer& trainer, std::int64_t rank,
                                             std::int64_t world_size, std::int64_t seed) {
  std::map<std::string, std::string> values;
  for (const auto& [key, value] : trainer.options.items()) values[key] = as_text(value);
  if (trainer.method) values["method"] = *trainer.method;
  values["seed"] = fmt::to_string(seed);
  values["rank"] = fmt::to_string(rank);
  values["world_size"] = fmt::to_string(world_size);
  return values;
}

// Returns the first argument that ends like this and names a file, relative to the folder.
std::optional<fs::path> first_file(const std::vector<std::string>& arguments, std::string_view ending,
                                   const fs::path& folder) {
  for (const std::string& argument : arguments) {
    const fs::path path = folder / argument;
    if (path.extension() == ending && fs::is_regular_file(path)) return path;
  }
  return std::nullopt;
}

std::optional<fs::path> script_of(const std::vector<std::string>& arguments, const fs::path& folder) {
  const auto python = first_file(arguments, ".py", folder);
  return python ? python : first_file(arguments, ".sh", folder);
}

// Returns the Python files that a command may import: those below its script's folder or, for a module of
// "python3 -m", below the experiment's folder.
std::vector<fs::path> default_inputs(const std::vector<std::string>& arguments, const fs::path& folder,
                                     const Place& place) {
  const std::optional<fs::path> script = script_of(arguments, folder);
  if (!script && std::ranges::find(arguments, "-m") == arguments.end()) {
    throw InputError(place / "command",
                     fmt::format("no argument names a script (*.py or *.sh) in {}; correct it, or list the "
                                 "files that decide the result in \"inputs\"",
                                 folder.string()));
  }
  try {
    return python_files_below(script ? script->parent_path() : folder);
  } catch (const TooManyInputs& error) {
    throw InputError(place / "command",
                     fmt::format("{}, too many for a run's identity; list the script's own modules in "
                                 "\"inputs\", such as [\"*.py\"], or move the script to a folder of its own",
                                 error.what()));
  }
}

void check_options(const ExternalTrainer& trainer, const Place& place) {
  for (const auto& [key, value] : trainer.options.items()) {
    if (std::ranges::find(own_placeholders, key) != std::end(own_placeholders)) {
      throw InputError(place / key,
                       fmt::format("{{{}}} already has a meaning in the command; choose another name", key));
    }
    if (key == "name") {
      throw InputError(
          place / key,
          "must not be called \"name\": in a sweep, another name would discard all other options; "
          "call it, for example, \"model_name\"");
    }
  }
}

void check_curve(const CurvePatterns& curve, const Place& place) {
  const auto check = [&place](const char* key, const std::optional<std::string>& pattern) {
    if (pattern) static_cast<void>(NumberPattern(*pattern, place / key));
  };
  check("iteration", curve.iteration);
  check("epoch", curve.epoch);
  check("train_loss", curve.train_loss);
  check("test_loss", curve.test_loss);
  check("test_accuracy", curve.test_accuracy);
  if (!curve.empty() && !curve.iteration) {
    throw InputError(place,
                     "needs \"iteration\", such as \"step ([0-9]+)\": a curve's points are counted by it");
  }
}

}  // namespace

void check_command(const ExternalTrainer& trainer, const Place& place) {
  check_options(trainer, place / "options");
  const auto values = values_of(trainer, 0, 1, 1);
  for (std::size_t i = 0; i < trainer.command.size(); ++i)
    fill_placeholders(trainer.command[i], values, place / "command" / i);
  if (trainer.command.front().empty()) throw InputError(place / "command" / 0, "must name a program");
  check_curve(trainer.curve, place / "curve");
}

std::vector<fs::path> inputs_of_command(const ExternalTrainer& trainer, const fs::path& folder,
                                        const Place& place) {
  const std::vector<std::string> arguments = arguments_of_command(trainer, 0, 1, 1);
  std::vector<fs::path> found = trainer.inputs ? files_matching(*trainer.inputs, folder, place / "inputs")
                                               : default_inputs(arguments, folder, place);
  std::set<fs::path> files(found.begin(), found.end());
  if (const auto script = script_of(arguments, folder)) files.insert(script->lexically_normal());
  return {files.begin(), files.end()};
}

std::string method_of_command(const ExternalTrainer& trainer) {
  if (trainer.method) return *trainer.method;
  for (const std::string_view ending : {".py", ".sh"}) {
    for (const std::string& argument : trainer.command) {
      if (fs::path(argument).extension() == ending) return fs::path(argument).stem();
    }
  }
  const auto module = std::ranges::find(trainer.command, "-m");
  const bool has_module = module != trainer.command.end() && std::next(module) != trainer.command.end();
  return has_module ? *std::next(module) : fs::path(trainer.command.front()).filename().string();
}

Json normalised_command(const ExternalTrainer& trainer, const std::string& inputs_hash) {
  Json out = {
      {"command", trainer.command}, {"method", method_of_command(trainer)}, {"inputs_hash", inputs_hash}};
  if (!trainer.options.empty()) out["options"] = trainer.options;
  if (trainer.inputs) out["inputs"] = *trainer.inputs;
  Json curve = write_options(trainer.curve);
  for (auto member = curve.begin(); member != curve.end();)
    member = member->is_null() ? curve.erase(member) : std::next(member);
  if (!curve.empty()) out["curve"] = std::move(curve);
  return out;
}

std::vector<std::string> arguments_of_command(const ExternalTrainer& trainer, std::int64_t rank,
                                              std::int64_t world_size, std::int64_t seed) {
  const auto values = values_of(trainer, rank, world_size, seed);
  std::vector<std::string> out;
  for (const std::string& argument : trainer.command)
    out.push_back(fill_placeholders(argument, values, {"", "/trainer/command"}));
  return out;
}

CheckedConfig training_of_command(const Json& trainers_part) {
  JsonObject object(trainers_part, {"", ""});
  std::int64_t seed = 1;
  object.read("seed", seed, {.at_least = 0});
  const std::vector<Target> targets = read_targets(object);
  const std::int64_t hold = read_hold(object);
  std::vector<std::string> others;
  for (const auto& [key, value] : trainers_part.items()) {
    if (key != "seed" && key != "targets" && key != "hold") others.push_back(key);
  }
  if (!others.empty()) {
    throw InputError(object.place_of(others.front()),
                     fmt::format("has no effect on a trainer's command, which brings its own: pass it in "
                                 "trainer.options, or set it to null in the patch with the command. Without "
                                 "effect here: {}. With effect: seed, targets, hold, {}",
                                 fmt::join(others, ", "), fmt::join(controller_option_keys(), ", ")));
  }
  CheckedConfig training;
  training.ok = true;
  training.config = {{"seed", seed}, {"targets", to_json(targets)}, {"hold", hold}};
  return training;
}

}  // namespace thinpipe
