// SPDX-License-Identifier: Apache-2.0
#include "harness/slurm/slurm.hh"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/support/child_process.hh"
#include "common/support/exception.hh"

namespace thinpipe {
namespace {

// Every other state is of a task that waits, runs, or will again.
constexpr std::array<std::string_view, 11> ended_states = {
    "BOOT_FAIL", "CANCELLED",     "COMPLETED", "DEADLINE", "FAILED", "LAUNCH_FAILED",
    "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED",  "TIMEOUT"};

std::string output_of(const std::vector<std::string>& command, const std::string& input = {}) {
  const Output output = run_program(command, input);
  if (!output.status.ok())
    throw Error(fmt::format("{} ended with {}", fmt::join(command, " "), output.status.describe()));
  return output.text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Returns nullopt for what remains of an array whose waiting tasks were cancelled.
std::optional<SlurmTask> parse_task(std::string_view line) {
  const std::vector<std::string_view> fields = split(line, '|');
  if (fields.size() == 6 && fields[2] == "N/A") return std::nullopt;
  const auto index = fields.size() == 6 ? number_in(fields[2]) : std::nullopt;
  if (!index) throw Error(fmt::format("squeue printed \"{}\" instead of a task of a job array", line));
  return SlurmTask{.job_name = std::string(fields[0]),
                   .job = std::string(fields[1]),
                   .index = *index,
                   .state = std::string(fields[3]),
                   .node = std::string(fields[4]),
                   .reason = std::string(fields[5])};
}

}  // namespace

bool is_live(const SlurmTask& task) {
  return std::ranges::find(ended_states, task.state) == ended_states.end();
}

bool waits(const SlurmTask& task) {
  return is_live(task) && task.node.empty();
}

std::vector<SlurmTask> parse_tasks(std::string_view text) {
  std::vector<SlurmTask> tasks;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    if (auto task = parse_task(line)) tasks.push_back(*std::move(task));
  }
  return tasks;
}

std::int64_t parse_max_array_size(std::string_view text) {
  for (std::string_view line : split(text, '\n')) {
    if (!line.starts_with("MaxArraySize")) continue;
    line.remove_prefix(std::min(line.size(), line.find_first_of("0123456789")));
    if (const auto size = number_in(line)) return *size;
  }
  throw Error("scontrol show config printed no MaxArraySize");
}

std::string Slurm::submit(const std::string& script, const std::vector<std::string>& options) const {
  std::vector<std::string> command = {"sbatch", "--parsable"};
  command.insert(command.end(), options.begin(), options.end());
  const std::string printed = output_of(command, script);
  return printed.substr(0, printed.find_first_of(";\n"));  // JOB[;CLUSTER]
}

std::vector<SlurmTask> Slurm::tasks(const std::vector<std::string>& job_names) const {
  if (job_names.empty()) return {};
  return parse_tasks(
      output_of({"squeue", "--noheader", "--array", "--states=all",
                 fmt::format("--name={}", fmt::join(job_names, ",")), "--format=%j|%F|%K|%T|%N|%r"}));
}

void Slurm::cancel(const std::vector<std::string>& job_names) const {
  for (const std::string& name : job_names) output_of({"scancel", "--name=" + name});
}

std::int64_t Slurm::max_array_size() const {
  return parse_max_array_size(output_of({"scontrol", "show", "config"}));
}

}  // namespace thinpipe
