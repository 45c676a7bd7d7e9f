// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/qdisc.hh"

#include <fmt/format.h>
#include <netlink/route/qdisc/fifo.h>
#include <netlink/route/tc.h>

namespace thinpipe::netem {

int request_flags(Edit edit) {
  return edit == Edit::add ? NLM_F_CREATE | NLM_F_EXCL : 0;
}

OwnedQdisc new_qdisc(int ifindex, std::uint32_t parent, std::uint32_t handle, const char* kind) {
  auto qdisc = own<OwnedQdisc>(rtnl_qdisc_alloc());
  rtnl_tc_set_ifindex(TC_CAST(qdisc.get()), ifindex);
  rtnl_tc_set_parent(TC_CAST(qdisc.get()), parent);
  rtnl_tc_set_handle(TC_CAST(qdisc.get()), handle);
  netlink_call(fmt::format("prepare a {} qdisc", kind), rtnl_tc_set_kind(TC_CAST(qdisc.get()), kind));
  return qdisc;
}

OwnedQdisc new_byte_queue(int ifindex, std::uint32_t parent, std::uint32_t handle, double limit_bytes) {
  OwnedQdisc queue = new_qdisc(ifindex, parent, handle, "bfifo");
  netlink_call("prepare a queue", rtnl_qdisc_fifo_set_limit(queue.get(), static_cast<int>(limit_bytes)));
  return queue;
}

void put(const NetlinkSocket& socket, Edit edit, const std::string& attempt, const OwnedQdisc& qdisc) {
  put(socket, edit, attempt, rtnl_tc_get_kind(TC_CAST(qdisc.get())),
      build_message(attempt, rtnl_qdisc_build_add_request, qdisc.get(), request_flags(edit)));
}

void put(const NetlinkSocket& socket, Edit edit, const std::string& attempt, const std::string& kind,
         const OwnedMessage& request) {
  try {
    socket.send(attempt, request);
  } catch (const NetlinkError& error) {
    if (edit != Edit::add || error.code() != -NLE_OBJ_NOTFOUND) throw;
    throw missing_module(attempt, kind + " qdisc", "sch_" + kind);
  }
}

Error missing_module(const std::string& attempt, const std::string& what, const std::string& module) {
  return Error(
      fmt::format("{}: this kernel has no {} (module {}); load the module, or use a kernel that "
                  "has it, such as Debian's",
                  attempt, what, module));
}

}  // namespace thinpipe::netem
