// The size of a full TCP frame on Ethernet, as shapers count it, and of its payload.
#pragma once

namespace thinpipe::netem {

inline constexpr double full_frame_bytes = 1514;          // MTU 1500 and the Ethernet header
inline constexpr double full_frame_payload_bytes = 1448;  // minus headers of IP and of TCP with timestamps
// The largest share of a cap that payload can use.
inline constexpr double goodput_of_cap = full_frame_payload_bytes / full_frame_bytes;

// Largest packets, on paths with a cap and on paths without. An uncapped path models a fabric that is never
// the limit; frames of 1514 bytes on it would use most of a small machine's CPU time.
inline constexpr unsigned packet_bytes = 1500;
inline constexpr unsigned uncapped_packet_bytes = 65535;

}  // namespace thinpipe::netem
