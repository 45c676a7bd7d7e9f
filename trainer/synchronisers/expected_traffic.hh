// SPDX-License-Identifier: Apache-2.0
// One worker's traffic in one step of a method, by formula. `thinpipe plan` uses it, and a test checks that
// each method sends the bytes it claims.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>

#include "trainer/collectives/ring_formula.hh"

namespace thinpipe::trainer {

// Messages within groups of `group` consecutive ranks: each worker sends to the one `distance` ranks further; the
// group's first rank follows its last.
struct Shift {
  int group = 1;
  int distance = 0;

  auto operator<=>(const Shift&) const = default;
};

struct ExpectedTraffic {
  // Bytes handed to collectives.
  double payload_bytes = 0;
  // Bytes that one worker sends, without network headers: the mean over workers. The members below split them
  // by pattern; the rest is all-reduced.
  double sent_bytes = 0;
  // Sent to all other workers in equal parts.
  double pairwise_bytes = 0;
  // All-reduced codes, one byte each.
  double codes = 0;
  // The largest absolute value of a code.
  int largest_code = 1;
  // Sent by all-gathers to which every worker contributes equally.
  double gathered_bytes = 0;
  // Sent by broadcasts, each worker being the root equally often.
  double broadcast_bytes = 0;
  // Bytes that collectives deliver to one worker and that it did not contribute itself: the mean over workers.
  double delivered_bytes = 0;
  // Sent to one other worker, by its place.
  std::map<Shift, double> shifted_bytes = {};

  ExpectedTraffic& operator+=(const ExpectedTraffic& other) {
    payload_bytes += other.payload_bytes;
    sent_bytes += other.sent_bytes;
    pairwise_bytes += other.pairwise_bytes;
    codes += other.codes;
    largest_code = std::max(largest_code, other.largest_code);
    gathered_bytes += other.gathered_bytes;
    broadcast_bytes += other.broadcast_bytes;
    delivered_bytes += other.delivered_bytes;
    for (const auto& [shift, bytes] : other.shifted_bytes) shifted_bytes[shift] += bytes;
    return *this;
  }
  ExpectedTraffic& operator*=(double share) {
    for (double* part : {&payload_bytes, &sent_bytes, &pairwise_bytes, &codes, &gathered_bytes,
                         &broadcast_bytes, &delivered_bytes})
      *part *= share;
    for (auto& [_, bytes] : shifted_bytes) bytes *= share;
    return *this;
  }
  friend ExpectedTraffic operator*(double share, ExpectedTraffic traffic) { return traffic *= share; }
  friend ExpectedTraffic operator+(ExpectedTraffic a, const ExpectedTraffic& b) { return a += b; }
};

inline ExpectedTraffic all_reduce_traffic(std::int64_t payload_bytes, int world_size) {
  const auto bytes = static_cast<double>(payload_bytes);
  return {.payload_bytes = bytes,
          .sent_bytes = ring_all_reduce_sent_bytes(bytes, world_size),
          .delivered_bytes = world_size == 1 ? 0 : bytes};
}

inline ExpectedTraffic all_reduce_quantised_traffic(std::int64_t codes, int largest_code, int world_size) {
  ExpectedTraffic traffic = all_reduce_traffic(codes, world_size);
  traffic.codes = static_cast<double>(codes);
  traffic.largest_code = largest_code;
  return traffic;
}

// Returns the traffic of an all-gather to which every worker contributes `contribution_bytes`.
inline ExpectedTraffic all_gather_traffic(std::int64_t contribution_bytes, int world_size) {
  const auto bytes = static_cast<double>(contribution_bytes);
  const double sent_bytes = ring_all_gather_sent_bytes(bytes, world_size);
  return {.payload_bytes = bytes,
          .sent_bytes = sent_bytes,
          .gathered_bytes = sent_bytes,
          .delivered_bytes = bytes * (world_size - 1)};
}

// Returns the traffic of broadcasts of `bytes` in all, each worker being the root equally often.
inline ExpectedTraffic broadcast_traffic(std::int64_t bytes, int world_size) {
  const double payload_bytes = static_cast<double>(bytes) / world_size;
  const double sent_bytes = payload_bytes * (world_size - 1);
  return {.payload_bytes = payload_bytes,
          .sent_bytes = sent_bytes,
          .broadcast_bytes = sent_bytes,
          .delivered_bytes = sent_bytes};
}

// Returns the traffic if every worker sends `payload_bytes` to one other worker.
inline ExpectedTraffic shift_traffic(std::int64_t payload_bytes, const Shift& shift) {
  const auto bytes = static_cast<double>(payload_bytes);
  return {.payload_bytes = bytes,
          .sent_bytes = bytes,
          .delivered_bytes = bytes,
          .shifted_bytes = {{shift, bytes}}};
}

// Returns the traffic of an all-to-all with `payload_bytes` per worker, in equal parts for all workers,
// itself included.
inline ExpectedTraffic all_to_all_traffic(std::int64_t payload_bytes, int world_size) {
  const auto bytes = static_cast<double>(payload_bytes);
  const double sent_bytes = bytes * (world_size - 1) / world_size;
  return {.payload_bytes = bytes,
          .sent_bytes = sent_bytes,
          .pairwise_bytes = sent_bytes,
          .delivered_bytes = sent_bytes};
}

// Return the traffic of the sizes that gather_any() and exchange_any() send first (messages.hh).
inline ExpectedTraffic gathered_sizes_traffic(int world_size) {
  return all_gather_traffic(4, world_size);
}
inline ExpectedTraffic exchanged_sizes_traffic(int world_size) {
  return all_to_all_traffic(std::int64_t{4} * world_size, world_size);
}

}  // namespace thinpipe::trainer
