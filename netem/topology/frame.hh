// SPDX-License-Identifier: Apache-2.0
// The size of a full TCP frame on Ethernet, as shapers count it, and of its payload.
#pragma once

namespace thinpipe::netem {

struct Frame {
  unsigned packet_bytes = 1500;  // of the largest packet: the network's MTU

  constexpr double bytes() const { return packet_bytes + 14.0; }          // with the Ethernet header
  constexpr double payload_bytes() const { return packet_bytes - 52.0; }  // without IP and TCP headers
  // The largest share of a cap that payload can use.
  constexpr double goodput_of_cap() const { return payload_bytes() / bytes(); }

  bool operator==(const Frame&) const = default;
};

// The frame of a TCP acknowledgement: headers of Ethernet, IP and TCP, the last with time stamps.
inline constexpr double acknowledgement_bytes = 66;

inline constexpr unsigned min_packet_bytes = 1280;  // of IPv6; smaller ones are not worth their headers
inline constexpr unsigned max_packet_bytes = 9216;  // of most switches that forward jumbo frames

// With packets of 1500 bytes, which real networks are assumed to have.
inline constexpr double full_frame_bytes = Frame{}.bytes();
inline constexpr double full_frame_payload_bytes = Frame{}.payload_bytes();
inline constexpr double goodput_of_cap = Frame{}.goodput_of_cap();

// The largest packet on paths without a cap. Such a path models a fabric that is never the limit; small frames on it would
// use most of a small machine's CPU time.
inline constexpr unsigned uncapped_packet_bytes = 65535;

}  // namespace thinpipe::netem
