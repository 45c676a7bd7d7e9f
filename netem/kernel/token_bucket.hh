// SPDX-License-Identifier: Apache-2.0
// The token bucket filter (tbf) that caps a direction of a link.
#pragma once

#include <cstdint>
#include <string>

#include "netem/kernel/qdisc.hh"
#include "netem/topology/link_shape.hh"

namespace thinpipe::netem {

// Returns a tbf for the root of a device: one bucket holds the credit and fills at the cap. If the burst is
// smaller, a second one holds the burst and fills at catch_up_ratio of the cap, tbf's "peak rate". A frame
// needs tokens from both. Throws Error.
OwnedQdisc new_token_bucket(int ifindex, std::uint32_t handle, const LinkShape& shape);

// Returns the burst of a tbf that was read from the kernel.
double held_burst_bytes(const OwnedQdisc& token_bucket);

// Returns the rate of a tbf.
double rate_bytes_per_s(const QdiscReply& token_bucket);

// Throws Error naming the device unless the kernel holds the credit and the peak rate that follow from the
// shape.
void check_credit(const OwnedQdisc& token_bucket, const std::string& device, const LinkShape& asked);

// Returns true if the kernel holds a bucket of the size asked for, but for two microseconds of the rate.
bool is_held_bucket(double asked_bytes, double held_bytes, double rate_bit_per_s);

}  // namespace thinpipe::netem
