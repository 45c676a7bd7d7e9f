// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/fair_queue.hh"

#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/route/class.h>
#include <netlink/route/qdisc/htb.h>
#include <netlink/route/tc.h>

namespace thinpipe::netem {
namespace {

using OwnedClass = Owned<rtnl_class, rtnl_class_put>;

// Faster than any link here, so that no class ever waits for tokens: 32 Gbit/s.
constexpr std::uint32_t unlimited_bytes_per_s = 4'000'000'000;

constexpr std::uint32_t class_of(const FairQueue& queue, std::uint32_t flow) {
  return queue.handle | (flow + 1);
}

OwnedMessage class_request(const FairQueue& queue, std::uint32_t flow, int flags) {
  const auto one = own<OwnedClass>(rtnl_class_alloc());
  rtnl_tc_set_ifindex(TC_CAST(one.get()), queue.ifindex);
  rtnl_tc_set_parent(TC_CAST(one.get()), queue.handle);
  rtnl_tc_set_handle(TC_CAST(one.get()), class_of(queue, flow));
  netlink_call("prepare a class", rtnl_tc_set_kind(TC_CAST(one.get()), "htb"));
  netlink_call("prepare a class", rtnl_htb_set_rate(one.get(), unlimited_bytes_per_s));
  netlink_call("prepare a class",
               rtnl_htb_set_quantum(one.get(), static_cast<std::uint32_t>(queue.turn_bytes)));
  return build_message("prepare a class", rtnl_class_build_add_request, one.get(), flags);
}

// Returns a program that maps a frame to its class: the sum of addresses and halved ports selects the queue.
// Ports are halved because the kernel hands out every second one, so successive connections get different
// queues. Frames other than IPv4 go to the first class. Offsets are relative to the Ethernet header; hosts
// send no IP options.
std::vector<sock_filter> classifier(const FairQueue& queue) {
  const std::uint32_t first = class_of(queue, 0);
  return {BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),  // EtherType
          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 1, 0),
          BPF_STMT(BPF_RET | BPF_K, first),
          BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 28),  // the source address's last two bytes
          BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, 5),
          BPF_STMT(BPF_MISC | BPF_TAX, 0),
          BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 32),  // the destination address's last two bytes
          BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, 11),
          BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
          BPF_STMT(BPF_MISC | BPF_TAX, 0),
          BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 34),  // the source port
          BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 1),
          BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
          BPF_STMT(BPF_MISC | BPF_TAX, 0),
          BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 36),  // the destination port
          BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 1),
          BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
          BPF_STMT(BPF_ALU | BPF_AND | BPF_K, fair_queues - 1),
          BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, first),
          BPF_STMT(BPF_RET | BPF_A, 0)};
}

// Built by hand: libnl has no BPF classifier.
OwnedMessage classifier_request(const FairQueue& queue, const std::string& attempt) {
  auto message = own<OwnedMessage>(nlmsg_alloc_simple(RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL));
  tcmsg header{};
  header.tcm_family = AF_UNSPEC;
  header.tcm_ifindex = queue.ifindex;
  header.tcm_parent = queue.handle;
  header.tcm_info = TC_H_MAKE(1U << 16, htons(ETH_P_ALL));  // priority 1
  const std::vector<sock_filter> program = classifier(queue);
  nl_msg* const raw = message.get();
  netlink_call(attempt, nlmsg_append(raw, &header, sizeof header, NLMSG_ALIGNTO));
  netlink_call(attempt, nla_put_string(raw, TCA_KIND, "bpf"));
  nlattr* const options = nla_nest_start(raw, TCA_OPTIONS);
  netlink_call(attempt, options == nullptr ? -NLE_NOMEM : 0);
  netlink_call(attempt, nla_put_u16(raw, TCA_BPF_OPS_LEN, static_cast<std::uint16_t>(program.size())));
  netlink_call(attempt, nla_put(raw, TCA_BPF_OPS, static_cast<int>(program.size() * sizeof(sock_filter)),
                                program.data()));
  nla_nest_end(raw, options);
  return message;
}

}  // namespace

void put_fair_queue(const NetlinkSocket& socket, Edit edit, const std::string& attempt,
                    const FairQueue& queue) {
  if (edit == Edit::add) {
    const OwnedQdisc scheduler = new_qdisc(queue.ifindex, queue.parent, queue.handle, "htb");
    netlink_call(attempt, rtnl_htb_set_defcls(scheduler.get(), 1));
    put(socket, edit, attempt, scheduler);
  }
  std::vector<char> requests;
  for (std::uint32_t flow = 0; flow < fair_queues; ++flow) {
    append_request(requests, class_request(queue, flow, request_flags(edit)));
    append_request(requests,
                   build_message(attempt, rtnl_qdisc_build_add_request,
                                 new_byte_queue(queue.ifindex, class_of(queue, flow),
                                                first_flow_queue_handle + (flow << 16), queue.queue_bytes)
                                     .get(),
                                 request_flags(edit)));
  }
  socket.send_together(attempt, std::move(requests));
  if (edit == Edit::change) return;
  try {
    socket.send(attempt, classifier_request(queue, attempt));
  } catch (const NetlinkError& error) {
    if (error.code() != -NLE_OBJ_NOTFOUND) throw;
    throw missing_module(attempt, "BPF classifier", "cls_bpf");
  }
}

}  // namespace thinpipe::netem
