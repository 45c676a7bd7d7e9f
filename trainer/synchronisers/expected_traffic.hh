// What a method's step costs one worker, by formula, for `thinpipe plan` and for the test that holds each
// method to the bytes it claims.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

#include "trainer/collectives/ring_formula.hh"

namespace thinpipe::trainer {

struct ExpectedTraffic {
  double payload_bytes = 0;    // handed to collectives
  double sent_bytes = 0;       // by one worker, mean over workers; headers of the network excluded
  double pairwise_bytes = 0;   // of them, to all others in equal parts; what is none of these is all-reduced
  double codes = 0;            // of the rest, summed as codes, a byte each
  int largest_code = 1;        // of any of them
  double gathered_bytes = 0;   // of sent_bytes, by all-gathers to which all contribute alike
  double broadcast_bytes = 0;  // of sent_bytes, by broadcasts of which each is the root as often
  std::map<int, double> shifted_bytes = {};  // of sent_bytes, to the worker that many ranks further

  ExpectedTraffic& operator+=(const ExpectedTraffic& other) {
    payload_bytes += other.payload_bytes;
    sent_bytes += other.sent_bytes;
    pairwise_bytes += other.pairwise_bytes;
    codes += other.codes;
    largest_code = std::max(largest_code, other.largest_code);
    gathered_bytes += other.gathered_bytes;
    broadcast_bytes += other.broadcast_bytes;
    for (const auto& [distance, bytes] : other.shifted_bytes) shifted_bytes[distance] += bytes;
    return *this;
  }
  ExpectedTraffic& operator*=(double share) {
    for (double* part :
         {&payload_bytes, &sent_bytes, &pairwise_bytes, &codes, &gathered_bytes, &broadcast_bytes})
      *part *= share;
    for (auto& [_, bytes] : shifted_bytes) bytes *= share;
    return *this;
  }
  friend ExpectedTraffic operator*(double share, ExpectedTraffic traffic) { return traffic *= share; }
  friend ExpectedTraffic operator+(ExpectedTraffic a, const ExpectedTraffic& b) { return a += b; }
};

inline ExpectedTraffic all_reduce_traffic(std::int64_t payload_bytes, int world_size) {
  const auto bytes = static_cast<double>(payload_bytes);
  return {bytes, ring_all_reduce_sent_bytes(bytes, world_size)};
}

inline ExpectedTraffic code_sum_traffic(std::int64_t codes, int largest_code, int world_size) {
  ExpectedTraffic traffic = all_reduce_traffic(codes, world_size);
  traffic.codes = static_cast<double>(codes);
  traffic.largest_code = largest_code;
  return traffic;
}

// Every worker contributes `contribution_bytes`.
inline ExpectedTraffic all_gather_traffic(std::int64_t contribution_bytes, int world_size) {
  const auto bytes = static_cast<double>(contribution_bytes);
  const double sent_bytes = ring_all_gather_sent_bytes(bytes, world_size);
  return {.payload_bytes = bytes, .sent_bytes = sent_bytes, .gathered_bytes = sent_bytes};
}

// Broadcasts of so many bytes together, of which each worker is the root as often.
inline ExpectedTraffic broadcast_traffic(std::int64_t bytes, int world_size) {
  const double payload_bytes = static_cast<double>(bytes) / world_size;
  const double sent_bytes = payload_bytes * (world_size - 1);
  return {.payload_bytes = payload_bytes, .sent_bytes = sent_bytes, .broadcast_bytes = sent_bytes};
}

// Every worker has `payload_bytes` for the one that is so many ranks further.
inline ExpectedTraffic shift_traffic(std::int64_t payload_bytes, int distance) {
  const auto bytes = static_cast<double>(payload_bytes);
  return {.payload_bytes = bytes, .sent_bytes = bytes, .shifted_bytes = {{distance, bytes}}};
}

// Every worker has `payload_bytes` for all workers, itself included, in equal parts.
inline ExpectedTraffic all_to_all_traffic(std::int64_t payload_bytes, int world_size) {
  const auto bytes = static_cast<double>(payload_bytes);
  const double sent_bytes = bytes * (world_size - 1) / world_size;
  return {bytes, sent_bytes, sent_bytes};
}

// Of gather_any's and exchange_any's sizes (messages.hh).
inline ExpectedTraffic gathered_sizes_traffic(int world_size) {
  return all_gather_traffic(4, world_size);
}
inline ExpectedTraffic exchanged_sizes_traffic(int world_size) {
  return all_to_all_traffic(std::int64_t{4} * world_size, world_size);
}

}  // namespace thinpipe::trainer
