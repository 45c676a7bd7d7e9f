// SPDX-License-Identifier: Apache-2.0
#include "trainer/collectives/benchmarks/exchange/mpi_job.hh"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/support/child_process.hh"
#include "harness/terminal/host_command.hh"

namespace thinpipe {
namespace {

struct Mpi {
  std::string way;
  std::string packages;
  std::string launcher;  // the path of its mpirun; empty if this build lacks the library
};

const std::vector<Mpi>& libraries() {
  static const std::vector<Mpi> all = {
      {.way = "openmpi", .packages = "openmpi-bin libopenmpi-dev", .launcher = THINPIPE_OPENMPI_LAUNCHER},
      {.way = "mpich", .packages = "mpich libmpich-dev", .launcher = THINPIPE_MPICH_LAUNCHER}};
  return all;
}

const Mpi* find(const std::string& way) {
  for (const Mpi& mpi : libraries()) {
    if (mpi.way == way) return &mpi;
  }
  return nullptr;
}

std::filesystem::path beside_this_program(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

// Returns mpirun's command without the worker's. All hosts share this machine's cores, so processes that wait
// leave them to others: mpi_yield_when_idle, and for MPICH see mpi_worker.cc.
std::vector<std::string> launch_command(const Mpi& mpi, const std::vector<std::string>& hosts) {
  const std::string shell = beside_this_program("exchange_remote_shell");
  const std::string processes = std::to_string(hosts.size());
  const std::string listed = fmt::format("{}", fmt::join(hosts, ","));
  const std::string device = netem::host_interface;
  if (mpi.way == "mpich") {
    return {mpi.launcher, "-n",        processes, "-hosts",         listed,  "-ppn",
            "1",          "-launcher", "rsh",     "-launcher-exec", shell,   "-iface",
            device,       "-genv",     "UCX_TLS", "tcp,self",       "-genv", "UCX_NET_DEVICES",
            device};
  }
  std::vector<std::string> command = {
      mpi.launcher, "--allow-run-as-root", "-np", processes, "--host", listed, "--map-by",
      "node",       "--bind-to",           "none"};
  const std::vector<std::pair<std::string, std::string>> parameters = {
      {"plm", "rsh"},
      {"plm_rsh_agent", shell},
      {"pml", "ob1"},
      {"btl", "tcp,self"},
      {"btl_tcp_if_include", device},
      {"oob_tcp_if_include", device},
      {"mpi_yield_when_idle", "1"},
  };
  for (const auto& [name, value] : parameters) command.insert(command.end(), {"--mca", name, value});
  return command;
}

}  // namespace

bool is_mpi(const std::string& way) {
  return find(way) != nullptr;
}

std::optional<std::string> obstacle_to_mpi(const std::string& way) {
  const Mpi& mpi = *find(way);
  if (!mpi.launcher.empty() && ::access(mpi.launcher.c_str(), X_OK) == 0) return std::nullopt;
  return fmt::format("install {}, configure and build", mpi.packages);
}

std::string run_mpi_job(const netem::Network& network, const std::string& way,
                        const std::vector<std::string>& arguments) {
  std::vector<ChildProcess> in_hosts;
  std::vector<std::string> names;
  std::vector<std::string> entries;
  for (const netem::Host& host : network.hosts()) {
    in_hosts.emplace_back(ChildProcess::Options{.arguments = {"/bin/sleep", "infinity"}, .before_exec = [&] {
                                                  enter_host(network.host_list(), host);
                                                }});
    names.push_back(host.name);
    entries.push_back(fmt::format("{}={}", host.name, in_hosts.back().pid()));
  }
  std::vector<std::string> command = launch_command(*find(way), names);
  command.push_back(beside_this_program("exchange_worker_" + way));
  command.insert(command.end(), arguments.begin(), arguments.end());
  const FileDescriptor messages(
      system_call("create a file for mpirun's messages", ::memfd_create("messages", MFD_CLOEXEC)));
  Pipe output = Pipe::create();
  ChildProcess launcher(
      {.arguments = command,
       .standard_output = output.write_end.get(),
       .standard_error = messages.get(),
       .environment = {{host_processes_variable, fmt::format("{}", fmt::join(entries, " "))}},
       .before_exec = [&] { enter_host(network.host_list(), network.hosts().front()); }});
  output.write_end.reset();
  std::string printed = read_to_end(output.read_end, "read the output of " + way);
  const ExitStatus status = launcher.wait();
  if (!status.ok()) {
    ::lseek(messages.get(), 0, SEEK_SET);
    throw Error(fmt::format("{}: mpirun ended with {}:\n{}", way, status.describe(),
                            read_to_end(messages, "read mpirun's messages")));
  }
  return printed;
}

}  // namespace thinpipe
