// SPDX-License-Identifier: Apache-2.0
#include "netem/kernel/token_bucket.hh"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <linux/pkt_sched.h>
#include <netlink/route/qdisc/tbf.h>

#include "common/support/exception.hh"

namespace thinpipe::netem {
namespace {

// libnl wants the resolution of the peak rate's table of times, which kernels no longer read.
constexpr int cell_bytes = 256;

bool has_peak_rate(const LinkShape& shape) {
  return shape.burst_bytes < credit_bytes(shape);
}

int peak_rate_bytes_per_s(const LinkShape& shape) {
  return static_cast<int>(catch_up_ratio * shape.rate_bit_per_s / 8);
}

// libnl returns a negative error for a peak rate of zero.
int held_peak_rate_bytes_per_s(const OwnedQdisc& token_bucket) {
  return std::max(0, rtnl_qdisc_tbf_get_peakrate(token_bucket.get()));
}

}  // namespace

OwnedQdisc new_token_bucket(int ifindex, std::uint32_t handle, const LinkShape& shape) {
  OwnedQdisc out = new_qdisc(ifindex, TC_H_ROOT, handle, "tbf");
  rtnl_qdisc_tbf_set_rate(out.get(), static_cast<int>(shape.rate_bit_per_s / 8),
                          static_cast<int>(credit_bytes(shape)), 0);
  if (has_peak_rate(shape)) {
    netlink_call("set a peak rate",
                 rtnl_qdisc_tbf_set_peakrate(out.get(), peak_rate_bytes_per_s(shape),
                                             static_cast<int>(shape.burst_bytes), cell_bytes));
  }
  rtnl_qdisc_tbf_set_limit(out.get(), static_cast<int>(shape.queue_bytes));
  return out;
}

double held_burst_bytes(const OwnedQdisc& token_bucket) {
  return held_peak_rate_bytes_per_s(token_bucket) > 0 ? rtnl_qdisc_tbf_get_peakrate_bucket(token_bucket.get())
                                                      : rtnl_qdisc_tbf_get_rate_bucket(token_bucket.get());
}

double rate_bytes_per_s(const QdiscReply& token_bucket) {
  const auto read = attributes_in<TCA_TBF_MAX + 1>(token_bucket.options);
  if (read[TCA_TBF_RATE64] != nullptr) return static_cast<double>(nla_get_u64(read[TCA_TBF_RATE64]));
  return struct_in<tc_tbf_qopt>(read[TCA_TBF_PARMS]).rate.rate;
}

void check_credit(const OwnedQdisc& token_bucket, const std::string& device, const LinkShape& asked) {
  const int asked_peak = has_peak_rate(asked) ? peak_rate_bytes_per_s(asked) : 0;
  const int peak = held_peak_rate_bytes_per_s(token_bucket);
  const int credit = rtnl_qdisc_tbf_get_rate_bucket(token_bucket.get());
  if (peak == asked_peak && is_held_bucket(credit_bytes(asked), credit, asked.rate_bit_per_s)) return;
  throw Error(fmt::format(
      "shape {}: asked for a credit of {:.0f} bytes and a peak rate of {} bytes per second, but the kernel "
      "holds {} and {}",
      device, credit_bytes(asked), asked_peak, credit, peak));
}

bool is_held_bucket(double asked_bytes, double held_bytes, double rate_bit_per_s) {
  // One microsecond of the rate is lost in the kernel's ticks, another when libnl reads them back.
  const double two_microseconds_bytes = std::ceil(2 * rate_bit_per_s / 8e6);
  return held_bytes <= asked_bytes + 1 && held_bytes >= asked_bytes - two_microseconds_bytes - 1;
}

}  // namespace thinpipe::netem
