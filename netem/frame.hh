// What a full Ethernet frame of TCP weighs: what shapers count, and what of it is the sender's.
#pragma once

namespace thinpipe::netem {

inline constexpr double full_frame_bytes = 1514;          // MTU 1500 and the Ethernet header
inline constexpr double full_frame_payload_bytes = 1448;  // less headers of IP and of TCP with timestamps
// The share of a cap that payload can have.
inline constexpr double goodput_of_cap = full_frame_payload_bytes / full_frame_bytes;

// Largest packets: over ways with a cap, and over those without, which stand for a fabric that is never the
// limit: with frames of 1514 bytes it would take most of a small machine's processors.
inline constexpr unsigned packet_bytes = 1500;
inline constexpr unsigned uncapped_packet_bytes = 65535;

}  // namespace thinpipe::netem
