// SPDX-License-Identifier: Apache-2.0
// What mpirun uses in place of ssh: runs a command in another host of the virtual network, in the namespaces of a
// process that is there already.
//
//   THINPIPE_HOST_PROCESSES="w0=12 w1=13" exchange_remote_shell HOST COMMAND...
//
// Like ssh, it joins the command's words with blanks and passes the line to a shell.
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"
#include "trainer/collectives/benchmarks/exchange/mpi_job.hh"

namespace thinpipe {
namespace {

pid_t process_in(const std::string& host) {
  const char* const listed = std::getenv(host_processes_variable);
  std::istringstream entries(listed == nullptr ? "" : listed);
  for (std::string entry; entries >> entry;) {
    const std::size_t separator = entry.find('=');
    if (entry.substr(0, separator) == host) return std::stoi(entry.substr(separator + 1));
  }
  throw Error(fmt::format("{} has no entry for host \"{}\"", host_processes_variable, host));
}

void run(const std::string& host, const std::vector<std::string>& command) {
  const FileDescriptor process(static_cast<int>(
      system_call("open the process in host " + host, ::syscall(SYS_pidfd_open, process_in(host), 0))));
  system_call("enter host " + host,
              ::setns(process.get(), CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS));
  const std::string line = fmt::format("{}", fmt::join(command, " "));
  system_call("execute /bin/sh", ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr));
}

}  // namespace
}  // namespace thinpipe

int main(int argc, char** argv) {
  try {
    if (argc < 3) throw thinpipe::Error("usage: exchange_remote_shell HOST COMMAND...");
    thinpipe::run(argv[1], {argv + 2, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "exchange_remote_shell: {}\n", error.what());
  }
  return 1;
}
