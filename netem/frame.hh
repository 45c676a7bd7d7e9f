// What a full Ethernet frame of TCP weighs: what shapers count, and what of it is the sender's.
#pragma once

namespace thinpipe::netem {

inline constexpr double full_frame_bytes = 1514;          // MTU 1500 and the Ethernet header
inline constexpr double full_frame_payload_bytes = 1448;  // less headers of IP and of TCP with timestamps
// The share of a cap that payload can have.
inline constexpr double goodput_of_cap = full_frame_payload_bytes / full_frame_bytes;

}  // namespace thinpipe::netem
