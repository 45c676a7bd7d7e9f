// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/active_queue.hh"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include <fmt/format.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "netem/topology/frame.hh"

namespace thinpipe::netem {
namespace {

constexpr double red_max_share = 0.1;        // S. Floyd's recommendation
constexpr unsigned red_max_weight_log2 = 9;  // about the 0.002 of RED's paper
constexpr unsigned red_average_bits = 31;    // the kernel keeps the average, shifted by the weight, in these

unsigned red_weight_log2(double max_bytes, const Frame& frame) {
  const auto frames = static_cast<std::uint64_t>(std::max(max_bytes / frame.bytes(), 2.0));
  const auto bits = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(max_bytes)));
  const unsigned wanted = std::min(static_cast<unsigned>(std::bit_width(frames)) - 1, red_max_weight_log2);
  return std::max(1U, std::min(wanted, red_average_bits - std::min(bits, red_average_bits)));
}

// How an average decays while the queue is empty: by the power of two in entry i after i * 2^cell_log2 us,
// as if frames that find no queue had arrived at the rate.
struct IdleDecay {
  unsigned cell_log2 = 0;
  std::array<std::uint8_t, 256> shifts{};
};

IdleDecay idle_decay(unsigned weight_log2, double rate_bit_per_s, const Frame& frame) {
  constexpr double max_shift = 31;
  const double frame_us = 8e6 * frame.bytes() / rate_bit_per_s;
  const double shift_per_us = -std::log2(1 - std::exp2(-static_cast<double>(weight_log2))) / frame_us;
  IdleDecay out;
  while (max_shift / shift_per_us > 255 * std::exp2(out.cell_log2)) ++out.cell_log2;
  for (std::size_t i = 0; i < out.shifts.size(); ++i) {
    const double shift = static_cast<double>(i) * std::exp2(out.cell_log2) * shift_per_us;
    out.shifts[i] = static_cast<std::uint8_t>(std::min(shift, max_shift));
  }
  return out;
}

void put_number(const OwnedMessage& message, int attribute, std::uint32_t value) {
  netlink_call("describe a queue", nla_put_u32(message.get(), attribute, value));
}

void put_red(const OwnedMessage& message, const ActiveQueue& queue, const LinkShape& shape) {
  const IdleDecay decay = idle_decay(queue.weight_log2, shape.rate_bit_per_s, shape.frame);
  tc_red_qopt settings{};
  settings.limit = queue.limit;
  settings.qth_min = queue.min_bytes;
  settings.qth_max = queue.max_bytes;
  settings.Wlog = static_cast<unsigned char>(queue.weight_log2);
  settings.Scell_log = static_cast<unsigned char>(decay.cell_log2);
  settings.flags = queue.ecn ? TC_RED_ECN : 0;
  netlink_call("describe a queue", nla_put(message.get(), TCA_RED_PARMS, sizeof settings, &settings));
  netlink_call("describe a queue",
               nla_put(message.get(), TCA_RED_STAB, decay.shifts.size(), decay.shifts.data()));
  put_number(message, TCA_RED_MAX_P, queue.max_share);
}

HeldActiveQueue read_codel(nlattr* options, nlattr* statistics) {
  const auto read = attributes_in<TCA_CODEL_MAX + 1>(options);
  return {.settings = {.queueing = Queueing::codel,
                       .ecn = number_in(read[TCA_CODEL_ECN]) != 0,
                       .limit = number_in(read[TCA_CODEL_LIMIT])},
          .marks = struct_in<tc_codel_xstats>(statistics).ecn_mark};
}

HeldActiveQueue read_fq_codel(nlattr* options, nlattr* statistics) {
  const auto read = attributes_in<TCA_FQ_CODEL_MAX + 1>(options);
  return {.settings = {.queueing = Queueing::fq_codel,
                       .ecn = number_in(read[TCA_FQ_CODEL_ECN]) != 0,
                       .limit = number_in(read[TCA_FQ_CODEL_LIMIT]),
                       .memory_bytes = number_in(read[TCA_FQ_CODEL_MEMORY_LIMIT])},
          .marks = struct_in<tc_fq_codel_xstats>(statistics).qdisc_stats.ecn_mark};
}

HeldActiveQueue read_red(nlattr* options, nlattr* statistics) {
  const auto read = attributes_in<TCA_RED_MAX + 1>(options);
  const auto settings = struct_in<tc_red_qopt>(read[TCA_RED_PARMS]);
  return {.settings = {.queueing = Queueing::red,
                       .ecn = (settings.flags & TC_RED_ECN) != 0,
                       .limit = settings.limit,
                       .min_bytes = settings.qth_min,
                       .max_bytes = settings.qth_max,
                       .max_share = number_in(read[TCA_RED_MAX_P]),
                       .weight_log2 = settings.Wlog},
          .marks = struct_in<tc_red_xstats>(statistics).marked};
}

}  // namespace

ActiveQueue active_queue_of(const LinkShape& shape) {
  const auto bytes = static_cast<std::uint32_t>(shape.queue_bytes);
  ActiveQueue out{.queueing = shape.queueing, .ecn = shape.ecn};
  if (shape.queueing == Queueing::red) {
    out.limit = bytes;
    out.max_bytes = bytes / 2;
    out.min_bytes = bytes / 6;
    out.max_share = static_cast<std::uint32_t>(std::exp2(32) * red_max_share);
    out.weight_log2 = red_weight_log2(out.max_bytes, shape.frame);
  } else {
    out.limit = static_cast<std::uint32_t>(std::ceil(shape.queue_bytes / shape.frame.bytes()));
    if (shape.queueing == Queueing::fq_codel) out.memory_bytes = 2 * bytes;
  }
  return out;
}

double queue_bytes_of(const ActiveQueue& queue, const Frame& frame) {
  return queue.queueing == Queueing::red ? queue.limit : queue.limit * frame.bytes();
}

std::string print(const ActiveQueue& queue) {
  return fmt::format("{} with a limit of {}, memory {}, thresholds {} and {}, share {}, weight 2^-{}, ECN {}",
                     name_of(queue.queueing), queue.limit, queue.memory_bytes, queue.min_bytes,
                     queue.max_bytes, queue.max_share, queue.weight_log2, queue.ecn ? "on" : "off");
}

void put_active_queue(const NetlinkSocket& socket, Edit edit, const std::string& attempt, int ifindex,
                      std::uint32_t parent, std::uint32_t handle, const LinkShape& shape) {
  const ActiveQueue queue = active_queue_of(shape);
  const std::string kind = name_of(queue.queueing);
  const auto message = own<OwnedMessage>(nlmsg_alloc_simple(RTM_NEWQDISC, request_flags(edit)));
  tcmsg header{};
  header.tcm_family = AF_UNSPEC;
  header.tcm_ifindex = ifindex;
  header.tcm_parent = parent;
  header.tcm_handle = handle;
  netlink_call(attempt, nlmsg_append(message.get(), &header, sizeof header, NLMSG_ALIGNTO));
  netlink_call(attempt, nla_put_string(message.get(), TCA_KIND, kind.c_str()));
  nlattr* const options = nla_nest_start(message.get(), TCA_OPTIONS);
  netlink_call(attempt, options == nullptr ? -NLE_NOMEM : 0);
  if (queue.queueing == Queueing::red) {
    put_red(message, queue, shape);
  } else if (queue.queueing == Queueing::fq_codel) {
    put_number(message, TCA_FQ_CODEL_LIMIT, queue.limit);
    put_number(message, TCA_FQ_CODEL_MEMORY_LIMIT, queue.memory_bytes);
    put_number(message, TCA_FQ_CODEL_ECN, queue.ecn ? 1 : 0);  // the kernel's default is 1
  } else {
    put_number(message, TCA_CODEL_LIMIT, queue.limit);
    put_number(message, TCA_CODEL_ECN, queue.ecn ? 1 : 0);
  }
  nla_nest_end(message.get(), options);
  put(socket, edit, attempt, kind, message);
}

std::optional<HeldActiveQueue> held_active_queue(const QdiscReply& queue) {
  if (queue.kind == name_of(Queueing::codel)) return read_codel(queue.options, queue.statistics);
  if (queue.kind == name_of(Queueing::fq_codel)) return read_fq_codel(queue.options, queue.statistics);
  if (queue.kind == name_of(Queueing::red)) return read_red(queue.options, queue.statistics);
  return std::nullopt;
}

}  // namespace thinpipe::netem
