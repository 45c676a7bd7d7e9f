// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/kernel_features.hh"

#include <exception>
#include <functional>
#include <sstream>

#include <fmt/format.h>
#include <linux/pkt_sched.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netlink/route/qdisc/fifo.h>
#include <netlink/route/qdisc/netem.h>
#include <netlink/route/qdisc/tbf.h>
#include <netlink/route/tc.h>
#include <sys/socket.h>

#include "common/support/file_descriptor.hh"
#include "netem/kernel/active_queue.hh"
#include "netem/kernel/fair_queue.hh"
#include "netem/kernel/link.hh"
#include "netem/kernel/network_namespace.hh"
#include "netem/kernel/qdisc.hh"

namespace thinpipe::netem {
namespace {

// Sets values that any kernel accepts, for the kinds that require some.
void fill(const std::string& kind, rtnl_qdisc* qdisc) {
  constexpr int bytes = 10000;
  if (kind == "tbf") {
    rtnl_qdisc_tbf_set_rate(qdisc, 1'000'000, bytes, 0);
    rtnl_qdisc_tbf_set_limit(qdisc, bytes);
  } else if (kind == "bfifo") {
    netlink_call("set a queue's limit", rtnl_qdisc_fifo_set_limit(qdisc, bytes));
  } else if (kind == "netem") {
    rtnl_netem_set_limit(qdisc, 1000);
    rtnl_netem_set_delay(qdisc, 1000);
  }
}

// Returns why the work fails in a temporary namespace; nullopt if it does not.
std::optional<std::string> obstacle_to(const std::function<void()>& work) {
  try {
    NetworkNamespace().run(work);
  } catch (const std::exception& error) {
    return error.what();
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> obstacle_to_qdisc(const std::string& kind) {
  try {
    NetworkNamespace().run([&kind] {
      const NetlinkSocket socket;
      const std::string attempt = "add a " + kind + " qdisc";
      const OwnedQdisc qdisc = new_qdisc(loopback_ifindex, TC_H_ROOT, TC_HANDLE(1, 0), kind.c_str());
      fill(kind, qdisc.get());
      socket.send(attempt, build_message(attempt, rtnl_qdisc_build_add_request, qdisc.get(),
                                         request_flags(Edit::add)));
    });
  } catch (const NetlinkError& error) {
    if (error.code() == -NLE_OBJ_NOTFOUND) return fmt::format("this kernel has no module sch_{}", kind);
    return error.what();
  } catch (const std::exception& error) {
    return error.what();
  }
  return std::nullopt;
}

std::optional<std::string> obstacle_to_fair_queueing() {
  return obstacle_to([] {
    put_fair_queue(NetlinkSocket(), Edit::add, "make a fair queue",
                   {.ifindex = loopback_ifindex,
                    .parent = TC_H_ROOT,
                    .handle = TC_HANDLE(1, 0),
                    .queue_bytes = 10000,
                    .turn_bytes = 4000});
  });
}

std::optional<std::string> obstacle_to_active_queueing(Queueing queueing) {
  return obstacle_to([queueing] {
    put_active_queue(
        NetlinkSocket(), Edit::add, fmt::format("make a queue of {}", name_of(queueing)), loopback_ifindex,
        TC_H_ROOT, TC_HANDLE(1, 0),
        {.rate_bit_per_s = 100e6, .burst_bytes = 4000, .queue_bytes = 100'000, .queueing = queueing});
  });
}

std::vector<std::string> usable_congestion_controls() {
  std::vector<std::string> out;
  NetworkNamespace().run([&out] {
    std::istringstream names(read_file("/proc/sys/net/ipv4/tcp_available_congestion_control"));
    for (std::string name; names >> name;) {
      const FileDescriptor socket(
          system_call("open a socket", ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
      if (::setsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, name.data(),
                       static_cast<socklen_t>(name.size())) == 0) {
        out.push_back(name);
      }
    }
  });
  return out;
}

}  // namespace thinpipe::netem
