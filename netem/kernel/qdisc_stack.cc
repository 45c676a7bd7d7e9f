// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/qdisc_stack.hh"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <linux/pkt_sched.h>
#include <netlink/route/qdisc/fifo.h>
#include <netlink/route/qdisc/netem.h>
#include <netlink/route/qdisc/tbf.h>
#include <netlink/route/tc.h>

#include "common/support/units.hh"
#include "netem/kernel/active_queue.hh"
#include "netem/kernel/fair_queue.hh"
#include "netem/kernel/link.hh"
#include "netem/kernel/qdisc.hh"
#include "netem/kernel/token_bucket.hh"
#include "netem/topology/frame.hh"

namespace thinpipe::netem {
namespace {

constexpr std::uint32_t shaper_handle = TC_HANDLE(1, 0);
constexpr std::uint32_t queue_handle = TC_HANDLE(2, 0);
constexpr std::uint32_t netem_handle = TC_HANDLE(3, 0);

constexpr double whole_share = 4294967295.0;  // probability 1 in the kernel's units
constexpr double rounding_s = 2e-6;           // error of delays, from the kernel's 64 ns ticks and libnl
constexpr double min_frame_bytes = 64;

// Returns how many frames netem may delay at a time: twice as many as the cap passes in that time if all have
// the minimum size. This limit counts frames; only the queue's limit, which counts bytes, should drop any.
int frames_in_flight(const LinkShape& shape) {
  const double max_s = shape.impairments.delay_s + shape.impairments.jitter_s;
  const double frames = shape.rate_bit_per_s / 8 / min_frame_bytes * max_s;
  return static_cast<int>(std::clamp(2 * frames, 1000.0, 4e6));
}

// Returns how many frames keep their delay before one may skip it: 1 with reordering, so that any frame may
// be next.
int reordering_gap(const Impairments& impairments) {
  return impairments.reordering > 0 ? 1 : 0;
}

int to_kernel_share(double share) {
  return static_cast<int>(static_cast<std::uint32_t>(std::llround(share * whole_share)));
}

double from_kernel_share(int share) {
  return static_cast<double>(static_cast<std::uint32_t>(share)) / whole_share;
}

int to_microseconds(double duration_s) {
  return static_cast<int>(std::lround(duration_s * 1e6));
}

OwnedQdisc new_netem(int ifindex, std::uint32_t parent, const LinkShape& shape) {
  OwnedQdisc netem = new_qdisc(ifindex, parent, netem_handle, "netem");
  const Impairments& asked = shape.impairments;
  rtnl_netem_set_limit(netem.get(), frames_in_flight(shape));
  rtnl_netem_set_delay(netem.get(), to_microseconds(asked.delay_s));
  if (asked.jitter_s > 0) rtnl_netem_set_jitter(netem.get(), to_microseconds(asked.jitter_s));
  if (asked.loss > 0) rtnl_netem_set_loss(netem.get(), to_kernel_share(asked.loss));
  if (asked.duplication > 0) rtnl_netem_set_duplicate(netem.get(), to_kernel_share(asked.duplication));
  if (asked.reordering > 0) {
    rtnl_netem_set_gap(netem.get(), reordering_gap(asked));
    rtnl_netem_set_reorder_probability(netem.get(), to_kernel_share(asked.reordering));
  }
  return netem;
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

const QdiscReply& existing(const QdiscReply& reply, const ShapedDevice& device) {
  if (reply.kind.empty()) throw Error("the shaper of " + device.name + " is gone from the kernel");
  return reply;
}

std::uint64_t marks_of(const QdiscReply& queue) {
  const std::optional<HeldActiveQueue> active = held_active_queue(queue);
  return active ? active->marks : 0;
}

// The kernel omits attributes that are zero, and libnl returns an error for them.
int value_or_zero(int value) {
  return value == -NLE_NOATTR ? 0 : value;
}

Impairments read_impairments(const OwnedQdisc& netem) {
  return {.delay_s = 1e-6 * value_or_zero(rtnl_netem_get_delay(netem.get())),
          .jitter_s = 1e-6 * value_or_zero(rtnl_netem_get_jitter(netem.get())),
          .loss = from_kernel_share(value_or_zero(rtnl_netem_get_loss(netem.get()))),
          .duplication = from_kernel_share(value_or_zero(rtnl_netem_get_duplicate(netem.get()))),
          .reordering = from_kernel_share(value_or_zero(rtnl_netem_get_reorder_probability(netem.get())))};
}

// Reads the discipline, the length and ECN of the queue into the shape. `active`: the device's active queue.
void read_queue(const OwnedCache& cache, const ShapedDevice& device,
                const std::optional<HeldActiveQueue>& active, LinkShape& out) {
  if (active) {
    out.queueing = active->settings.queueing;
    out.queue_bytes = queue_bytes_of(active->settings, out.frame);
    out.ecn = active->settings.ecn;
    return;
  }
  const OwnedQdisc queue = find(cache, device, queue_handle);
  const bool fair = std::string_view(rtnl_tc_get_kind(TC_CAST(queue.get()))) == "htb";
  const OwnedQdisc first = fair ? find(cache, device, first_flow_queue_handle) : nullptr;
  out.queueing = fair ? Queueing::fair : Queueing::fifo;
  out.queue_bytes = static_cast<double>(rtnl_qdisc_fifo_get_limit(fair ? first.get() : queue.get()));
}

LinkShape read_shape(const OwnedCache& cache, const ShapedDevice& device,
                     const std::optional<HeldActiveQueue>& active, const Frame& frame) {
  const OwnedQdisc shaper = find(cache, device, shaper_handle);
  LinkShape out{
      .rate_bit_per_s = 8.0 * rtnl_qdisc_tbf_get_rate(shaper.get()),
      .burst_bytes = held_burst_bytes(shaper),
      .impairments = device.impaired ? read_impairments(find(cache, device, netem_handle)) : Impairments{},
      .frame = frame};
  read_queue(cache, device, active, out);
  return out;
}

std::optional<HeldActiveQueue> read_active_queue(const NetlinkSocket& socket, const ShapedDevice& device) {
  const QdiscId queue{device.ifindex, queue_handle};
  return held_active_queue(read_qdiscs(socket, {&queue, 1}).front());
}

std::string print(const LinkShape& shape) {
  const Impairments& also = shape.impairments;
  return fmt::format(
      "rate {}, burst {}, {} queue {}{}, delay {}, jitter {}, loss {}, duplication {}, reordering {}",
      format_quantity(Quantity::rate, shape.rate_bit_per_s),
      format_quantity(Quantity::size, shape.burst_bytes), name_of(shape.queueing),
      format_quantity(Quantity::size, shape.queue_bytes), shape.ecn ? " with ECN" : "",
      format_quantity(Quantity::duration, also.delay_s), format_quantity(Quantity::duration, also.jitter_s),
      also.loss, also.duplication, also.reordering);
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool is_held(const Impairments& asked, const Impairments& held) {
  const auto close = [](double a, double b, double error) { return std::abs(a - b) <= error; };
  return close(asked.delay_s, held.delay_s, rounding_s) && close(asked.jitter_s, held.jitter_s, rounding_s) &&
         close(asked.loss, held.loss, 1 / whole_share) &&
         close(asked.duplication, held.duplication, 1 / whole_share) &&
         close(asked.reordering, held.reordering, 1 / whole_share);
}

// codel and fq_codel count packets.
double queue_rounding_bytes(const LinkShape& shape) {
  return shape.queueing == Queueing::codel || shape.queueing == Queueing::fq_codel ? shape.frame.bytes() : 1;
}

// Checks the values that netem counts in frames. They are not part of a shape but follow from it.
void check_frame_counts(const OwnedQdisc& netem, const ShapedDevice& device, const LinkShape& asked) {
  const int limit = value_or_zero(rtnl_netem_get_limit(netem.get()));
  const int gap = value_or_zero(rtnl_netem_get_gap(netem.get()));
  if (limit != frames_in_flight(asked) || gap != reordering_gap(asked.impairments)) {
    throw Error(fmt::format(
        "delay or disturb {}: asked for a limit of {} frames and a gap of {}, but the kernel holds {} and {}",
        device.name, frames_in_flight(asked), reordering_gap(asked.impairments), limit, gap));
  }
}

// Checks the settings that are not part of a shape but follow from it.
void check_active_queue(const ActiveQueue& held, const ShapedDevice& device, const LinkShape& asked) {
  const ActiveQueue wanted = active_queue_of(asked);
  if (held == wanted) return;
  throw Error(fmt::format("set the queue of {}: asked for {}, but the kernel holds {}", device.name,
                          print(wanted), print(held)));
}

// Returns true if the device's queue must not be described again. Any message discards the frames that wait
// in a red queue: the kernel gives it a new queue inside. Without one it keeps the decay of its average while
// idle, which follows from the rate and has no effect while frames wait.
bool keeps_queue(const NetlinkSocket& socket, Edit edit, const ShapedDevice& device, const LinkShape& asked) {
  if (edit == Edit::add || asked.queueing != Queueing::red) return false;
  const auto held = read_active_queue(socket, device);
  return held && held->settings == active_queue_of(asked);
}

// Adds or changes a device's whole stack of qdiscs, and compares it with the shape asked for. A change also
// describes every qdisc in full, except as keeps_queue says: libnl cannot send back the state that it has
// read from the kernel.
LinkShape put_stack(const NetlinkSocket& socket, Edit edit, const ShapedDevice& device,
                    const LinkShape& asked) {
  put(socket, edit, "shape " + device.name, new_token_bucket(device.ifindex, shaper_handle, asked));
  std::uint32_t holder = shaper_handle;
  if (device.impaired) {
    put(socket, edit, "delay or disturb " + device.name, new_netem(device.ifindex, inside(holder), asked));
    holder = netem_handle;
  }
  const std::string attempt = "set the queue of " + device.name;
  if (asked.queueing == Queueing::fair) {
    put_fair_queue(socket, edit, attempt,
                   {.ifindex = device.ifindex,
                    .parent = inside(holder),
                    .handle = queue_handle,
                    .queue_bytes = asked.queue_bytes,
                    .turn_bytes = asked.burst_bytes});
  } else if (is_active(asked.queueing)) {
    if (!keeps_queue(socket, edit, device, asked))
      put_active_queue(socket, edit, attempt, device.ifindex, inside(holder), queue_handle, asked);
  } else {
    // tbf has a queue like this one of its own, but hides it: only an explicit queue shows its drops.
    put(socket, edit, attempt,
        new_byte_queue(device.ifindex, inside(holder), queue_handle, asked.queue_bytes));
  }

  const OwnedCache cache = all_qdiscs(socket);
  const auto active = is_active(asked.queueing) ? read_active_queue(socket, device) : std::nullopt;
  const LinkShape held = read_shape(cache, device, active, asked.frame);
  if (!is_held(asked, held)) {
    throw Error(fmt::format("shape {}: asked for {}, but the kernel holds {}", device.name, print(asked),
                            print(held)));
  }
  check_credit(find(cache, device, shaper_handle), device.name, asked);
  if (active) check_active_queue(active->settings, device, asked);
  if (device.impaired) check_frame_counts(find(cache, device, netem_handle), device, asked);
  return held;
}

}  // namespace

bool is_held(const LinkShape& asked, const LinkShape& held) {
  return std::abs(held.rate_bit_per_s - asked.rate_bit_per_s) <= 8 &&
         is_held_bucket(asked.burst_bytes, held.burst_bytes, catch_up_ratio * asked.rate_bit_per_s) &&
         std::abs(held.queue_bytes - asked.queue_bytes) <= queue_rounding_bytes(asked) &&
         held.queueing == asked.queueing && held.ecn == asked.ecn &&
         is_held(asked.impairments, held.impairments);
}

LinkShape shape_device(const NetlinkSocket& socket, const ShapedDevice& device, const LinkShape& asked) {
  return put_stack(socket, Edit::add, device, asked);
}

LinkShape reshape_device(const NetlinkSocket& socket, const ShapedDevice& device, const LinkShape& asked) {
  return put_stack(socket, Edit::change, device, asked);
}

void check_kernel_shapes(const NetlinkSocket& socket, const LinkShape& shape) {
  const ShapedDevice probe{"a trial device", loopback_ifindex, shape.impairments.any()};
  shape_device(socket, probe, shape);
  const OwnedQdisc root = new_qdisc(probe.ifindex, TC_H_ROOT, shaper_handle, "tbf");
  netlink_call("remove the trial qdiscs", rtnl_qdisc_delete(socket.get(), root.get()));
}

std::vector<LinkCounters> read_counters(const NetlinkSocket& socket,
                                        const std::vector<ShapedDevice>& devices) {
  std::vector<QdiscId> ids;
  for (const ShapedDevice& device : devices) {
    ids.push_back({device.ifindex, shaper_handle});
    ids.push_back({device.ifindex, queue_handle});
    if (device.impaired) ids.push_back({device.ifindex, netem_handle});
  }
  const double before_s = now_s();
  const std::vector<QdiscReply> replies = read_qdiscs(socket, ids);
  const double after_s = now_s();
  std::vector<LinkCounters> out;
  auto next = replies.begin();
  for (const ShapedDevice& device : devices) {
    const QdiscReply& shaper = existing(*next++, device);
    const QdiscReply& queue = existing(*next++, device);
    const QdiscReply* const netem = device.impaired ? &existing(*next++, device) : nullptr;
    out.push_back(
        {.name = device.name,
         .rate_bit_per_s = 8 * rate_bytes_per_s(shaper),
         .bytes = shaper.bytes,
         .packets = shaper.packets,
         .drops = shaper.drops,
         .full_queue_drops = queue.drops,
         // netem's drops include the queue's.
         .lost_on_purpose = netem != nullptr && netem->drops > queue.drops ? netem->drops - queue.drops : 0,
         .marks = device.ecn ? std::optional(marks_of(queue)) : std::nullopt,
         // With a netem, the shaper's backlog includes frames that are still being delayed.
         .backlog_bytes = netem != nullptr ? queue.backlog_bytes : shaper.backlog_bytes,
         .time_s = (before_s + after_s) / 2,
         .time_uncertainty_s = (after_s - before_s) / 2});
  }
  return out;
}

}  // namespace thinpipe::netem
