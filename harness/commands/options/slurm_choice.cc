// SPDX-License-Identifier: Apache-2.0
#include "harness/commands/options/slurm_choice.hh"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "common/support/exception.hh"

namespace thinpipe {
namespace {

constexpr const char* executor_option = "--executor";
constexpr const char* detach_flag = "--detach";

// An option of sbatch that `thinpipe run` has, too.
struct SbatchOption {
  const char* name;
  std::string SlurmChoice::*value;
  std::string ExecutorOptions::*of_experiment;
  const char* type;
  const char* effect;
};
constexpr std::array<SbatchOption, 4> own_options = {
    {{"--partition", &SlurmChoice::partition, &ExecutorOptions::partition, "NAME",
      "Slurm: the partition with the nodes"},
     {"--time", &SlurmChoice::time, &ExecutorOptions::time, "TIME",
      "Slurm: the time limit of each run, such as 30 (minutes) or 2:00:00"},
     {"--account", &SlurmChoice::account, &ExecutorOptions::account, "NAME", "Slurm: the account that pays"},
     {"--constraint", &SlurmChoice::constraint, &ExecutorOptions::constraint, "FEATURES",
      "Slurm: features that a node must have"}}};

// Options of sbatch by which Thinpipe finds its jobs.
constexpr std::array<std::string_view, 4> reserved = {"--job-name", "-J", "--array", "-a"};
constexpr const char* refusal_of_reserved = "is set by thinpipe, which finds its jobs by it; leave it out";

bool is_reserved(std::string_view option) {
  const bool is_long = option.starts_with("--");
  return std::ranges::any_of(reserved, [&](std::string_view name) {
    return is_long ? option.substr(0, option.find('=')) == name
                   : name.size() == 2 && option.starts_with(name);
  });
}

// Throws InputError if a member has no effect.
void check_local(const ExecutorOptions& options, const Place& place) {
  const auto refuse = [&place](std::string_view key) {
    throw InputError(place / key, "has an effect only if \"name\" is \"slurm\"; remove it");
  };
  for (const SbatchOption& option : own_options) {
    if (!(options.*option.of_experiment).empty()) refuse(std::string_view(option.name).substr(2));
  }
  if (!options.sbatch.empty()) refuse("sbatch");
}

bool has_value(std::string_view argument) {
  return argument == executor_option || std::ranges::any_of(own_options, [&](const SbatchOption& option) {
           return argument == option.name;
         });
}

bool is_with_value(std::string_view argument) {
  return argument.find('=') != std::string_view::npos && has_value(argument.substr(0, argument.find('=')));
}

}  // namespace

void SlurmChoice::add_to(CLI::App& command) {
  command
      .add_option(
          executor_option, executor,
          "What executes the runs: local, this command itself, one after the other; or slurm, job arrays "
          "with a task for each run, which this command submits and watches; the default is the experiment's "
          "\"executor\", or local")
      ->check(CLI::IsMember({"local", "slurm"}));
  for (const SbatchOption& option : own_options)
    command.add_option(option.name, this->*option.value, option.effect)->type_name(option.type);
  command.add_flag(detach_flag, detach, "Slurm: return after the submission");
  command.add_option("sbatch-options", further, "Slurm: after --, further options of sbatch")
      ->type_name("OPTION");
}

void SlurmChoice::complete(const Experiment& experiment, const std::vector<std::string>& arguments) {
  if (executor.empty()) executor = experiment.executor.name;
  check(arguments);
  const ExecutorOptions& theirs = experiment.executor;
  if (theirs.name == "local") return check_local(theirs, {experiment.file, "/executor"});
  if (!is_chosen()) return;
  for (std::size_t i = 0; i < theirs.sbatch.size(); ++i) {
    if (is_reserved(theirs.sbatch[i]))
      throw InputError(Place{experiment.file, "/executor/sbatch"} / i, refusal_of_reserved);
  }
  for (const SbatchOption& option : own_options) {
    if ((this->*option.value).empty()) this->*option.value = theirs.*option.of_experiment;
  }
  further.insert(further.begin(), theirs.sbatch.begin(), theirs.sbatch.end());
}

void SlurmChoice::check(const std::vector<std::string>& arguments) const {
  if (!further.empty() && std::ranges::find(arguments, "--") == arguments.end())
    throw InputError({further.front(), ""}, "is one argument too many; options of sbatch go after --");
  if (is_chosen()) {
    const auto found = std::ranges::find_if(further, is_reserved);
    if (found != further.end()) throw InputError({*found, ""}, refusal_of_reserved);
    return;
  }
  const auto refuse = [](const std::string& option) {
    throw InputError({option, ""}, "has an effect only with --executor slurm");
  };
  for (const SbatchOption& option : own_options) {
    if (!(this->*option.value).empty()) refuse(option.name);
  }
  if (detach) refuse(detach_flag);
  if (!further.empty()) refuse(further.front());
}

std::vector<std::string> SlurmChoice::sbatch_options() const {
  std::vector<std::string> out;
  for (const SbatchOption& option : own_options) {
    if (const std::string& value = this->*option.value; !value.empty())
      out.push_back(fmt::format("{}={}", option.name, value));
  }
  out.insert(out.end(), further.begin(), further.end());
  return out;
}

std::vector<std::string> without_slurm(const std::vector<std::string>& arguments) {
  std::vector<std::string> out = {std::filesystem::read_symlink("/proc/self/exe")};
  for (std::size_t i = 1; i < arguments.size() && arguments[i] != "--"; ++i) {
    if (has_value(arguments[i])) {
      ++i;
    } else if (!is_with_value(arguments[i]) && arguments[i] != detach_flag) {
      out.push_back(arguments[i]);
    }
  }
  out.insert(out.end(), {executor_option, "local"});
  return out;
}

}  // namespace thinpipe
