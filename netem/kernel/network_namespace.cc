// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/network_namespace.hh"

#include <exception>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "common/support/exception.hh"

namespace thinpipe::netem {
namespace {

void in_thread(const std::function<void()>& work) {
  std::exception_ptr failure;
  std::thread([&] {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
}

// Writes a setting. A kernel without it has nothing to switch off.
void set_where_present(const std::string& path, std::string_view value) {
  if (::access(path.c_str(), F_OK) == 0)
    write_all(FileDescriptor::open(path, O_WRONLY), value, "write " + path);
}

const std::string settings = "/proc/sys/net/";  // of the calling thread's namespace

// Switches off IPv6 and packet filters on bridges: the emulated network carries the workers' traffic and
// nothing else.
void silence() {
  set_where_present(settings + "ipv6/conf/all/disable_ipv6", "1");
  set_where_present(settings + "ipv6/conf/default/disable_ipv6", "1");
  for (const char* const filter : {"iptables", "ip6tables", "arptables"}) {
    set_where_present(settings + "bridge/bridge-nf-call-" + filter, "0");
  }
}

}  // namespace

NetworkNamespace::NetworkNamespace() {
  in_thread([this] {
    system_call("make a network namespace", ::unshare(CLONE_NEWNET));
    fd_ = FileDescriptor::open("/proc/thread-self/ns/net", O_RDONLY);
    silence();
  });
}

void NetworkNamespace::enter() const {
  system_call("enter a network namespace", ::setns(fd_.get(), CLONE_NEWNET));
}

void NetworkNamespace::forward_packets() const {
  run([] {
    const std::string forwarding = settings + "ipv4/ip_forward";
    write_all(FileDescriptor::open(forwarding, O_WRONLY), "1", "write " + forwarding);
    // A packet and its answer may take different paths.
    for (const char* const devices : {"all", "default"}) {
      set_where_present(settings + "ipv4/conf/" + devices + "/rp_filter", "0");
    }
  });
}

void NetworkNamespace::negotiate_ecn() const {
  run([] {
    const std::string ecn = settings + "ipv4/tcp_ecn";
    write_all(FileDescriptor::open(ecn, O_WRONLY), "1", "write " + ecn);
    if (const std::string held = read_file(ecn); held != "1\n")
      throw Error("write " + ecn + ": asked for 1, but the kernel holds " + held);
  });
}

void NetworkNamespace::run(const std::function<void()>& work) const {
  in_thread([&] {
    enter();
    work();
  });
}

}  // namespace thinpipe::netem
