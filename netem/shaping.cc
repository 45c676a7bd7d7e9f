#include "netem/shaping.hh"

#include <chrono>
#include <cmath>

#include <fmt/format.h>
#include <linux/pkt_sched.h>
#include <netlink/route/qdisc/fifo.h>
#include <netlink/route/qdisc/tbf.h>
#include <netlink/route/tc.h>

#include "harness/support/units.hh"

namespace thinpipe::netem {
namespace {

constexpr std::uint32_t shaper_handle = TC_HANDLE(1, 0);
constexpr std::uint32_t queue_parent = TC_HANDLE(1, 1);
constexpr std::uint32_t queue_handle = TC_HANDLE(2, 0);

OwnedQdisc new_qdisc(int ifindex, std::uint32_t parent, std::uint32_t handle, const char* kind) {
  auto qdisc = own<OwnedQdisc>(rtnl_qdisc_alloc());
  rtnl_tc_set_ifindex(TC_CAST(qdisc.get()), ifindex);
  rtnl_tc_set_parent(TC_CAST(qdisc.get()), parent);
  rtnl_tc_set_handle(TC_CAST(qdisc.get()), handle);
  netlink_call(fmt::format("prepare a {} qdisc", kind), rtnl_tc_set_kind(TC_CAST(qdisc.get()), kind));
  return qdisc;
}

void add(const NetlinkSocket& socket, const std::string& attempt, const OwnedQdisc& qdisc) {
  try {
    socket.send(attempt,
                build_message(attempt, rtnl_qdisc_build_add_request, qdisc.get(), NLM_F_CREATE | NLM_F_EXCL));
  } catch (const NetlinkError& error) {
    if (error.code() != -NLE_OBJ_NOTFOUND) throw;
    throw Error(fmt::format("{}: this kernel has no {} qdisc (module sch_{})", attempt,
                            rtnl_tc_get_kind(TC_CAST(qdisc.get())), rtnl_tc_get_kind(TC_CAST(qdisc.get()))));
  }
}

OwnedCache all_qdiscs(const NetlinkSocket& socket) {
  nl_cache* cache = nullptr;
  netlink_call("list qdiscs", rtnl_qdisc_alloc_cache(socket.get(), &cache));
  return OwnedCache(cache);
}

OwnedQdisc find(const OwnedCache& cache, const ShapedDevice& device, std::uint32_t handle) {
  OwnedQdisc qdisc(rtnl_qdisc_get(cache.get(), device.ifindex, handle));
  if (!qdisc) throw Error("the shaper of " + device.name + " is gone from the kernel");
  return qdisc;
}

Shape read_shape(const NetlinkSocket& socket, const ShapedDevice& device) {
  const OwnedCache cache = all_qdiscs(socket);
  const OwnedQdisc shaper = find(cache, device, shaper_handle);
  const OwnedQdisc queue = find(cache, device, queue_handle);
  return {.rate_bit_per_s = 8.0 * rtnl_qdisc_tbf_get_rate(shaper.get()),
          .burst_bytes = static_cast<double>(rtnl_qdisc_tbf_get_rate_bucket(shaper.get())),
          .queue_bytes = static_cast<double>(rtnl_qdisc_fifo_get_limit(queue.get()))};
}

std::string print(const Shape& shape) {
  return fmt::format("rate {}, burst {}, queue {}", format_quantity(Quantity::rate, shape.rate_bit_per_s),
                     format_quantity(Quantity::size, shape.burst_bytes),
                     format_quantity(Quantity::size, shape.queue_bytes));
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Shape shape_device(const NetlinkSocket& socket, const ShapedDevice& device, const Shape& asked) {
  const OwnedQdisc shaper = new_qdisc(device.ifindex, TC_H_ROOT, shaper_handle, "tbf");
  rtnl_qdisc_tbf_set_rate(shaper.get(), static_cast<int>(asked.rate_bit_per_s / 8),
                          static_cast<int>(asked.burst_bytes), 0);
  rtnl_qdisc_tbf_set_limit(shaper.get(), static_cast<int>(asked.queue_bytes));
  add(socket, "shape " + device.name, shaper);
  // The filter brings a queue like this one, but hides it: only one of ours shows its own drops.
  const OwnedQdisc queue = new_qdisc(device.ifindex, queue_parent, queue_handle, "bfifo");
  netlink_call("prepare a queue",
               rtnl_qdisc_fifo_set_limit(queue.get(), static_cast<int>(asked.queue_bytes)));
  add(socket, "add the queue of " + device.name, queue);

  const Shape held = read_shape(socket, device);
  const double microsecond_bytes = std::ceil(asked.rate_bit_per_s / 8e6);
  if (std::abs(held.rate_bit_per_s - asked.rate_bit_per_s) > 8 || held.burst_bytes > asked.burst_bytes + 1 ||
      held.burst_bytes < asked.burst_bytes - microsecond_bytes - 1 ||
      std::abs(held.queue_bytes - asked.queue_bytes) > 1) {
    throw Error(fmt::format("shape {}: asked for {}, but the kernel holds {}", device.name, print(asked),
                            print(held)));
  }
  return held;
}

std::vector<LinkCounters> read_counters(const NetlinkSocket& socket,
                                        const std::vector<ShapedDevice>& devices) {
  const double before_s = now_s();
  const OwnedCache cache = all_qdiscs(socket);
  const double after_s = now_s();
  std::vector<LinkCounters> out;
  for (const ShapedDevice& device : devices) {
    const OwnedQdisc shaper = find(cache, device, shaper_handle);
    const OwnedQdisc queue = find(cache, device, queue_handle);
    const auto count = [](const OwnedQdisc& qdisc, rtnl_tc_stat which) {
      return rtnl_tc_get_stat(TC_CAST(qdisc.get()), which);
    };
    out.push_back({.name = device.name,
                   .rate_bit_per_s = 8.0 * rtnl_qdisc_tbf_get_rate(shaper.get()),
                   .bytes = count(shaper, RTNL_TC_BYTES),
                   .packets = count(shaper, RTNL_TC_PACKETS),
                   .drops = count(shaper, RTNL_TC_DROPS),
                   .full_queue_drops = count(queue, RTNL_TC_DROPS),
                   .backlog_bytes = count(shaper, RTNL_TC_BACKLOG),
                   .time_s = (before_s + after_s) / 2,
                   .time_uncertainty_s = (after_s - before_s) / 2});
  }
  return out;
}

}  // namespace thinpipe::netem
