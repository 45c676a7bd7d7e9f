// One worker's call of a collective, as far as it takes to make it again without the data: its operation,
// sizes and element type. As JSON: docs/results.md, communication-trace.json.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "harness/support/json_object.hh"

namespace thinpipe {

// Of anything in a row: more is no trace of a training, and its sums would not fit.
inline constexpr double most_repeats = 1e9;
// Likewise, of elements or bytes in one message.
inline constexpr double most_elements = 1e15;

enum class ElementType { float32, float64, float16, bfloat16, int8, uint8, int32, int64, boolean };

std::string_view name_of(ElementType type);
std::int64_t bytes_of(ElementType type);

struct AllReduceCall {
  ElementType type = ElementType::float32;
  std::int64_t elements = 0;
  bool takes_maximum = false;     // else the sum
  std::int64_t largest_code = 0;  // of a sum of int8 codes: none of a worker's is larger; 0: not such a sum
  bool in_pieces = false;         // codes are made while others of them are under way

  auto operator<=>(const AllReduceCall&) const = default;
};

// Enough bits for any sum of so many workers' codes, of which none is larger than `largest_code`, at least 1:
// ⌈log2(2jc + 1)⌉.
constexpr int bits_of_code_sum(std::int64_t workers, std::int64_t largest_code) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(2 * workers * largest_code)));
}

struct AllGatherCall {
  ElementType type = ElementType::uint8;
  std::vector<std::int64_t> counts = {};  // elements of each worker

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

// What passed between a worker and a neighbour of its in the tree.
struct EdgeBytes {
  int neighbour = 0;
  std::int64_t sent = 0;
  std::int64_t received = 0;

  auto operator<=>(const EdgeBytes&) const = default;
};

// A sum of vectors with few entries along a tree of the workers, of which each edge carries what entries the
// data had.
struct EntrySumCall {
  std::int64_t elements = 0;
  std::int64_t payload_bytes = 0;     // of this worker's own entries
  std::vector<EdgeBytes> edges = {};  // of its neighbours, each once

  auto operator<=>(const EntrySumCall&) const = default;
};

// A letter sent, or one received, so many times in a row.
struct Post {
  int to = -1;             // -1: received
  std::int64_t bytes = 0;  // of one sent
  std::int64_t repeat = 1;

  auto operator<=>(const Post&) const = default;
};

// A mailbox from its opening to its closing.
struct MailboxCall {
  std::int64_t message_bytes = 0;  // at most
  std::vector<Post> posts = {};    // in the order in which this worker sent and received

  auto operator<=>(const MailboxCall&) const = default;
};

// A smaller all-reduce goes by halving and doubling instead of around the ring, which takes 11 ms for next to
// nothing with eight workers on two cores and 100 Mbit/s between the islands. Backend and simulation take the
// same way.
inline constexpr std::int64_t hops_matter_bytes = std::int64_t{32} << 10;
// A still smaller one a ring's workers swap whole, across a hypercube, in half as many hops.
inline constexpr std::int64_t only_hops_matter_bytes = std::int64_t{4} << 10;

using CollectiveCall = std::variant<AllReduceCall, AllGatherCall, AllToAllCall, BroadcastCall, BarrierCall,
                                    MailboxCall, EntrySumCall>;

// The call where it is a sum of codes in pieces, otherwise null.
const AllReduceCall* sum_in_pieces(const CollectiveCall& call);

// What worker `rank` hands to the collective.
double payload_bytes(const CollectiveCall& call, std::size_t rank);

Json to_json(const CollectiveCall& call);

// Strict: throws InputError for what no worker among `world_size` can call.
CollectiveCall parse_call(const Json& value, const Place& place, int world_size);

}  // namespace thinpipe
