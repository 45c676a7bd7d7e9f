// SPDX-License-Identifier: Apache-2.0
// One worker's call of a collective: operation, sizes and element type, enough to replay it without its data.
// JSON format: docs/reference/records.md, communication-trace.json.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "common/protocol/reduction.hh"
#include "common/support/json_object.hh"

namespace thinpipe {

// Upper bound of `repeat`. No training run needs more, and sums of larger numbers could overflow.
inline constexpr double max_repeats = 1e9;
// Upper bound of the elements or bytes of one message, for the same reasons.
inline constexpr double max_elements = 1e15;

enum class ElementType { float32, float64, float16, bfloat16, int8, uint8, int32, int64, boolean };

std::string_view name_of(ElementType type);
std::int64_t bytes_of(ElementType type);

struct AllReduceCall {
  ElementType type = ElementType::float32;
  std::int64_t elements = 0;
  Reduction reduction = Reduction::sum;
  std::int64_t largest_code = 0;  // for sums of int8 codes: the largest code of one worker; otherwise 0
  bool in_chunks = false;         // codes are encoded while earlier ones are in flight

  auto operator<=>(const AllReduceCall&) const = default;
};

// Returns the bits that hold any sum of j = `workers` codes, each of at most c = `largest_code` in magnitude:
// ⌈log2(2jc + 1)⌉. c is at least 1.
constexpr int bits_of_code_sum(std::int64_t workers, std::int64_t largest_code) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(2 * workers * largest_code)));
}

struct AllGatherCall {
  ElementType type = ElementType::uint8;
  std::vector<std::int64_t> counts = {};  // elements from each worker

  auto operator<=>(const AllGatherCall&) const = default;
};

struct AllToAllCall {
  ElementType type = ElementType::uint8;
  std::vector<std::int64_t> sent = {};      // elements to each worker
  std::vector<std::int64_t> received = {};  // elements from each worker

  auto operator<=>(const AllToAllCall&) const = default;
};

struct BroadcastCall {
  ElementType type = ElementType::float32;
  std::int64_t elements = 0;
  int root = 0;

  auto operator<=>(const BroadcastCall&) const = default;
};

struct BarrierCall {
  auto operator<=>(const BarrierCall&) const = default;
};

// Bytes that passed between a worker and one of its neighbours in the reduction tree.
struct EdgeBytes {
  int neighbour = 0;
  std::int64_t sent = 0;
  std::int64_t received = 0;

  auto operator<=>(const EdgeBytes&) const = default;
};

// A sparse all-reduce along a reduction tree. The bytes on each edge depend on the data.
struct SparseAllReduceCall {
  std::int64_t elements = 0;
  std::int64_t payload_bytes = 0;     // of this worker's own entries
  std::vector<EdgeBytes> edges = {};  // one per neighbour

  auto operator<=>(const SparseAllReduceCall&) const = default;
};

// A point-to-point message that is sent or received `repeat` times in a row.
struct PointToPointMessage {
  int to = -1;             // -1: received
  std::int64_t bytes = 0;  // of a sent message
  std::int64_t repeat = 1;

  auto operator<=>(const PointToPointMessage&) const = default;
};

// The messages of a PointToPoint object, from its opening to its closing.
struct PointToPointCall {
  std::int64_t message_bytes = 0;                  // largest size of a message
  std::vector<PointToPointMessage> messages = {};  // in the order in which this worker sent and received

  auto operator<=>(const PointToPointCall&) const = default;
};

// Smaller all-reduces use recursive halving and doubling instead of a ring. A ring takes 11 ms even for a few
// bytes, with eight workers on two cores and 100 Mbit/s between the islands. Backend and simulation use the
// same limit.
inline constexpr std::int64_t ring_from_bytes = std::int64_t{32} << 10;
// Even smaller all-reduces without a tree use recursive doubling: workers exchange whole tensors across a
// hypercube, in half as many hops.
inline constexpr std::int64_t halving_doubling_from_bytes = std::int64_t{4} << 10;
// A broadcast without a tree is sent in pieces, so that the levels of the tree overlap and the time-out applies to a piece
// instead of a model.
inline constexpr std::int64_t broadcast_piece_bytes = std::int64_t{4} << 20;

using CollectiveCall = std::variant<AllReduceCall, AllGatherCall, AllToAllCall, BroadcastCall, BarrierCall,
                                    PointToPointCall, SparseAllReduceCall>;

// Returns the call if it is an all-reduce of codes in chunks, otherwise nullptr.
const AllReduceCall* chunked_all_reduce(const CollectiveCall& call);

// Returns the bytes that worker `rank` passes to the collective.
double payload_bytes(const CollectiveCall& call, std::size_t rank);

Json to_json(const CollectiveCall& call);

// Throws InputError for unknown members and for a call that no worker among `world_size` can make.
CollectiveCall parse_call(const Json& value, const Place& place, int world_size);

}  // namespace thinpipe
