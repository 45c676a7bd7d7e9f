// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/qdisc.hh"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <linux/gen_stats.h>
#include <linux/rtnetlink.h>
#include <netlink/route/qdisc/fifo.h>
#include <netlink/route/tc.h>
#include <sys/socket.h>

namespace thinpipe::netem {
namespace {

// The kernel's answers, of about a kilobyte each in its memory, wait in the socket's buffer of 64 KiB.
constexpr std::size_t largest_batch = 16;
constexpr std::size_t largest_answer_bytes = 8192;

struct QdiscRequest {
  nlmsghdr header;
  tcmsg about;
};

std::vector<QdiscRequest> requests_for(std::span<const QdiscId> ids) {
  std::vector<QdiscRequest> out;
  for (const QdiscId& id : ids) {
    QdiscRequest request{};
    request.header = {.nlmsg_len = sizeof request,
                      .nlmsg_type = RTM_GETQDISC,
                      .nlmsg_flags = NLM_F_REQUEST | NLM_F_ECHO,  // without it, only listeners get the answer
                      .nlmsg_seq = static_cast<std::uint32_t>(out.size()),
                      .nlmsg_pid = 0};
    request.about.tcm_family = AF_UNSPEC;
    request.about.tcm_ifindex = id.ifindex;
    request.about.tcm_handle = id.handle;
    out.push_back(request);
  }
  return out;
}

std::vector<char> receive_answer(const char* attempt, int socket) {
  std::array<char, largest_answer_bytes> answer;
  const auto bytes =
      static_cast<std::size_t>(system_call(attempt, ::recv(socket, answer.data(), answer.size(), MSG_TRUNC)));
  if (bytes < sizeof(nlmsghdr) || bytes > answer.size())
    throw Error(fmt::format("{}: got an answer of {} bytes", attempt, bytes));
  return {answer.begin(), answer.begin() + static_cast<std::ptrdiff_t>(bytes)};
}

// Returns the answer to the request with this number; none if it says that there is no such qdisc or device.
std::vector<char> description_in(const char* attempt, std::vector<char> answer, std::size_t number) {
  const auto* const header = reinterpret_cast<const nlmsghdr*>(answer.data());
  if (header->nlmsg_seq != number || header->nlmsg_len > answer.size())
    throw Error(fmt::format("{}: got an answer to another request", attempt));
  if (header->nlmsg_type != NLMSG_ERROR) return answer;
  const int error = -static_cast<const nlmsgerr*>(nlmsg_data(header))->error;
  if (error != ENOENT && error != ENODEV) throw SystemError(attempt, error);
  return {};
}

}  // namespace

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

QdiscReply::QdiscReply(std::vector<char> bytes_of_message) : message(std::move(bytes_of_message)) {
  if (message.empty()) return;
  std::array<nlattr*, TCA_MAX + 1> read{};
  auto* const header = reinterpret_cast<nlmsghdr*>(message.data());
  netlink_call("parse a qdisc", nlmsg_parse(header, sizeof(tcmsg), read.data(), TCA_MAX, nullptr));
  if (read[TCA_KIND] != nullptr) kind = nla_get_string(read[TCA_KIND]);
  options = read[TCA_OPTIONS];
  statistics = read[TCA_XSTATS];
  const auto counted = attributes_in<TCA_STATS_MAX + 1>(read[TCA_STATS2]);
  const auto sent = struct_in<gnet_stats_basic>(counted[TCA_STATS_BASIC]);
  const auto queue = struct_in<gnet_stats_queue>(counted[TCA_STATS_QUEUE]);
  bytes = sent.bytes;
  packets = counted[TCA_STATS_PKT64] != nullptr ? nla_get_u64(counted[TCA_STATS_PKT64]) : sent.packets;
  drops = queue.drops;
  backlog_bytes = queue.backlog;
}

std::vector<QdiscReply> read_qdiscs(const NetlinkSocket& socket, std::span<const QdiscId> ids) {
  const char* const attempt = "read qdiscs";
  const int fd = nl_socket_get_fd(socket.get());
  std::vector<QdiscReply> out;
  while (!ids.empty()) {
    const auto batch = ids.first(std::min(ids.size(), largest_batch));
    ids = ids.subspan(batch.size());
    std::vector<QdiscRequest> requests = requests_for(batch);
    netlink_call(attempt, nl_sendto(socket.get(), requests.data(), requests.size() * sizeof(QdiscRequest)));
    std::vector<std::vector<char>> answers;  // all of them first: an error should leave none behind
    for (std::size_t i = 0; i < batch.size(); ++i) answers.push_back(receive_answer(attempt, fd));
    for (std::size_t i = 0; i < batch.size(); ++i)
      out.emplace_back(description_in(attempt, std::move(answers[i]), i));
  }
  return out;
}

Error missing_module(const std::string& attempt, const std::string& what, const std::string& module) {
  return Error(
      fmt::format("{}: this kernel has no {} (module {}); load the module, or use a kernel that "
                  "has it, such as Debian's",
                  attempt, what, module));
}

}  // namespace thinpipe::netem
