// SPDX-License-Identifier: Apache-2.0
// The program that sandbox_test runs: enters the sandbox and performs the action that its first argument
// names.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "common/support/exception.hh"
#include "common/support/file_descriptor.hh"
#include "netem/kernel/probe.hh"
#include "netem/kernel/sandbox.hh"
#include "netem/network.hh"
#include "netem/topology/topology_format.hh"

namespace thinpipe::netem {
namespace {

volatile std::sig_atomic_t interrupts = 0;

void print_line(const std::string& line) {
  write_all(FileDescriptor(system_call("copy standard output", ::dup(STDOUT_FILENO))), line + "\n",
            "write " + line);
}

void sleep_s(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// Prints how many SIGINTs and SIGHUPs arrive within half a second of the first.
int count_interrupts() {
  for (const int number : {SIGINT, SIGHUP}) std::signal(number, [](int) { interrupts = interrupts + 1; });
  print_line("ready");
  while (interrupts == 0) sleep_s(0.01);
  sleep_s(0.5);
  print_line(fmt::format("{}", static_cast<int>(interrupts)));
  return 0;
}

// Starts a process that leaves its session and its parent, and holds standard output open.
void start_orphan(double lives_s) {
  if (system_call("fork", ::fork()) != 0) return;
  ::setsid();
  if (::fork() != 0) ::_exit(0);
  sleep_s(lives_s);
  ::_exit(0);
}

int leave_orphans() {
  for (int i = 0; i < 3; ++i) start_orphan(600);
  print_line("ready");
  sleep_s(600);
  return 0;
}

// Prints how many children of PID 1 are zombies after orphans have ended.
int count_zombies() {
  for (int i = 0; i < 5; ++i) start_orphan(0);
  sleep_s(0.3);
  int zombies = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    if (entry.path().filename().string().find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string status = read_file(entry.path() / "status");
    const bool zombie = status.find("\nState:\tZ") != std::string::npos;
    if (zombie && status.find("\nPPid:\t1\n") != std::string::npos) ++zombies;
  }
  print_line(fmt::format("{}", zombies));
  return 0;
}

// Builds a network with a shaped link, connects through it, and prints the congestion control of the sockets.
int build_network() {
  const Network network(
      parse_topology(Json::parse(R"({"name": "n", "switches": ["l", "r"], "hosts": ["a", "b"],
      "links": [{"between": ["a", "l"]}, {"between": ["b", "r"]}, {"between": ["l", "r"], "rate": "100 Mbit/s"}]})"),
                     {"n", ""}));
  print_line(fmt::format("user {} {}", ::getuid(), network.congestion_control()));
  return 0;
}

// Prints "connected" once a connection over the loopback device is open.
int use_loopback() {
  const Connection connection =
      connect_hosts({.name = "a", .address = "127.0.0.1"}, {.name = "b", .address = "127.0.0.1"});
  print_line("connected");
  return 0;
}

int act(const std::vector<std::string>& arguments) {
  const std::string& action = arguments.at(1);
  if (action == "exit") return std::stoi(arguments.at(2));
  if (action == "die") {
    ::raise(std::stoi(arguments.at(2)));
    return 0;
  }
  if (action == "count-interrupts") return count_interrupts();
  if (action == "leave-orphans") return leave_orphans();
  if (action == "count-zombies") return count_zombies();
  if (action == "build-network") return build_network();
  if (action == "use-loopback") return use_loopback();
  throw Error("unknown action " + action);
}

}  // namespace
}  // namespace thinpipe::netem

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv, argv + argc);
  try {
    if (!thinpipe::netem::inside_sandbox()) return thinpipe::netem::run_in_sandbox(arguments);
    return thinpipe::netem::act(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
