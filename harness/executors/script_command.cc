// SPDX-License-Identifier: Apache-2.0
#include "harness/executors/script_command.hh"

#include <cstdlib>
#include <optional>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"
#include "harness/executors/launch_environment.hh"
#include "harness/executors/python_package.hh"
#include "harness/plan/training_command.hh"

namespace thinpipe {

namespace fs = std::filesystem;

namespace {

std::optional<std::string> variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// Returns a TCP port of the machine that is free now. Another program may take it before the script does.
int free_port() {
  const FileDescriptor socket(system_call("open a socket", ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  system_call("bind a socket to a free port", ::bind(socket.get(), any, size));
  system_call("read a socket's port", ::getsockname(socket.get(), any, &size));
  return ntohs(address.sin_port);
}

// Returns the folders of Python modules for a command: the user's own, and that of the package thinpipe.
std::string python_path(const std::string& program, const fs::path& folder) {
  const std::string ours = python_package_for(program, folder);
  const auto users = variable("PYTHONPATH");
  return users && !users->empty() ? fmt::format("{}:{}", *users, ours) : ours;
}

std::int64_t seed_of(const Run& run) {
  return run.training->config.at("seed").get<std::int64_t>();
}

std::vector<std::pair<std::string, std::string>> environment_of(const Run& run, std::int64_t rank,
                                                                const netem::Host& host,
                                                                const Meeting& meeting,
                                                                const std::string& network_interface,
                                                                const fs::path& reports) {
  auto out =
      launch_environment({.rank = rank,
                          .world_size = run.workers,
                          .master_address = meeting.address,
                          .master_port = meeting.port,
                          .interface = network_interface,
                          .gpus = run.mode == Mode::cluster ? std::vector<std::string>() : visible_gpus(),
                          .user_limits_threads = variable("OMP_NUM_THREADS").has_value()});
  out.emplace_back("THINPIPE_TOPOLOGY", run.setting->topology.name);
  out.emplace_back("THINPIPE_HOST", host.name);
  out.emplace_back("THINPIPE_OPTIONS", run.external_trainer.options.dump());
  out.emplace_back("THINPIPE_METHOD", run.external_trainer.method.value_or(""));
  out.emplace_back("THINPIPE_SEED", fmt::to_string(seed_of(run)));
  out.emplace_back("THINPIPE_REPORTS", reports.string());
  return out;
}

}  // namespace

Meeting meeting_at(const netem::Host& host) {
  return {.address = host.address, .port = host.network_namespace ? default_master_port : free_port()};
}

WorkerCommand script_worker(const Run& run, std::int64_t rank, const netem::Host& host,
                            const Meeting& meeting, const std::string& network_interface,
                            const fs::path& run_folder) {
  const fs::path reports = run_folder / fmt::format("reports-{}", rank);
  const auto arguments = arguments_of_command(run.external_trainer, rank, run.workers, seed_of(run));
  auto environment = environment_of(run, rank, host, meeting, network_interface, reports);
  environment.emplace_back("PYTHONPATH", python_path(arguments.front(), run.folder));
  return {.rank = rank,
          .command = {},
          .input = {},
          .log = run_folder / fmt::format("worker-{}.log", rank),
          .before_exec = [&host] { host.enter(); },
          .script = ScriptCommand{.arguments = arguments,
                                  .environment = environment,
                                  .working_directory = run.folder,
                                  .reports = reports}};
}

}  // namespace thinpipe
