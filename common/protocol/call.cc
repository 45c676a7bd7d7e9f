// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/call.hh"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace thinpipe {
namespace {

struct TypeEntry {
  std::string_view name;
  std::int64_t bytes;
};

// In the order of ElementType.
constexpr std::array<TypeEntry, 9> types = {{{"float32", 4},
                                             {"float64", 8},
                                             {"float16", 2},
                                             {"bfloat16", 2},
                                             {"int8", 1},
                                             {"uint8", 1},
                                             {"int32", 4},
                                             {"int64", 8},
                                             {"boolean", 1}}};

const TypeEntry& entry_of(ElementType type) {
  return types.at(static_cast<std::size_t>(type));
}

// Returns the place of the member's value among `names`.
std::ptrdiff_t read_name(JsonObject& object, std::string_view key, const std::vector<std::string>& names) {
  std::string name;
  object.read(key, name, {.one_of = names, .required = true});
  return std::ranges::find(names, name) - names.begin();
}

ElementType read_type(JsonObject& object) {
  std::vector<std::string> names;
  names.reserve(types.size());
  for (const TypeEntry& type : types) names.emplace_back(type.name);
  return static_cast<ElementType>(read_name(object, "type", names));
}

Reduction read_reduction(JsonObject& object) {
  return static_cast<Reduction>(
      read_name(object, "reduction", {reduction_names.begin(), reduction_names.end()}));
}

std::int64_t read_count(JsonObject& object, std::string_view key) {
  std::int64_t count = 0;
  object.read(key, count, {.at_least = 0, .at_most = max_elements, .required = true});
  return count;
}

int read_rank(const Json& value, const Place& place, int world_size) {
  std::int64_t rank = 0;
  read_value(value, place, {.at_least = 0, .below = static_cast<double>(world_size)}, rank);
  return static_cast<int>(rank);
}

// Reads one count per worker.
std::vector<std::int64_t> read_counts(JsonObject& object, std::string_view key, int world_size) {
  std::vector<std::int64_t> counts;
  object.read(key, counts, {.at_least = 0, .at_most = max_elements, .required = true});
  if (std::ssize(counts) != world_size) {
    throw InputError(object.place_of(key), fmt::format("must have {} counts, one for each worker, but has {}",
                                                       world_size, counts.size()));
  }
  return counts;
}

// ["send", to, bytes, repeat] or ["receive", repeat].
Json message_to_json(const PointToPointMessage& message) {
  if (message.to < 0) return {"receive", message.repeat};
  return {"send", message.to, message.bytes, message.repeat};
}

PointToPointMessage parse_message(const Json& value, const Place& place, int world_size) {
  const bool receives = value.is_array() && value.size() == 2 && value[0] == "receive";
  const bool sends = value.is_array() && value.size() == 4 && value[0] == "send";
  if (!receives && !sends) {
    throw InputError(
        place, "must be [\"send\", to, bytes, repeat] or [\"receive\", repeat], but is " + value.dump());
  }
  PointToPointMessage message;
  read_value(value.back(), place / (value.size() - 1), {.at_least = 1, .at_most = max_repeats},
             message.repeat);
  if (sends) {
    message.to = read_rank(value[1], place / 1U, world_size);
    read_value(value[2], place / 2U, {.at_least = 0, .at_most = max_elements}, message.bytes);
  }
  return message;
}

// [neighbour, sent, received].
EdgeBytes parse_edge(const Json& value, const Place& place, int world_size) {
  if (!value.is_array() || value.size() != 3) {
    throw InputError(place, "must be [neighbour, sent, received], but is " + value.dump());
  }
  EdgeBytes edge{.neighbour = read_rank(value[0], place / 0U, world_size)};
  read_value(value[1], place / 1U, {.at_least = 0, .at_most = max_elements}, edge.sent);
  read_value(value[2], place / 2U, {.at_least = 0, .at_most = max_elements}, edge.received);
  return edge;
}

// Parses each item of a list.
template <class Item>
std::vector<Item> read_list(JsonObject& object, std::string_view key, int world_size,
                            Item (*parse)(const Json&, const Place&, int)) {
  const Json& list = object.get(key);
  const Place place = object.place_of(key);
  if (!list.is_array()) throw InputError(place, "must be a list, but is " + list.dump());
  std::vector<Item> out;
  for (std::size_t i = 0; i < list.size(); ++i) out.push_back(parse(list[i], place / i, world_size));
  return out;
}

Json typed(const char* operation, ElementType type) {
  return {{"operation", operation}, {"type", name_of(type)}};
}

struct Writer {
  Json operator()(const AllReduceCall& call) const {
    Json out = typed("all_reduce", call.type);
    out["elements"] = call.elements;
    out["reduction"] = name_of(call.reduction);
    if (call.largest_code > 0) out["largest_code"] = call.largest_code;
    if (call.in_chunks) out["in_chunks"] = true;
    return out;
  }
  Json operator()(const AllGatherCall& call) const {
    Json out = typed("all_gather_v", call.type);
    out["counts"] = call.counts;
    return out;
  }
  Json operator()(const AllToAllCall& call) const {
    Json out = typed("all_to_all_v", call.type);
    out["sent"] = call.sent;
    out["received"] = call.received;
    return out;
  }
  Json operator()(const BroadcastCall& call) const {
    Json out = typed("broadcast", call.type);
    out["elements"] = call.elements;
    out["root"] = call.root;
    return out;
  }
  Json operator()(const BarrierCall& /*call*/) const { return {{"operation", "barrier"}}; }
  Json operator()(const PointToPointCall& call) const {
    Json messages = Json::array();
    for (const PointToPointMessage& message : call.messages) messages.push_back(message_to_json(message));
    return {{"operation", "point_to_point"},
            {"message_bytes", call.message_bytes},
            {"posts", std::move(messages)}};
  }
  Json operator()(const SparseAllReduceCall& call) const {
    Json edges = Json::array();
    for (const EdgeBytes& edge : call.edges) edges.push_back({edge.neighbour, edge.sent, edge.received});
    return {{"operation", "sparse_all_reduce"},
            {"elements", call.elements},
            {"payload_bytes", call.payload_bytes},
            {"edges", std::move(edges)}};
  }
};

struct PayloadBytes {
  std::size_t rank;

  double operator()(const AllReduceCall& call) const { return bytes(call.elements, call.type); }
  double operator()(const AllGatherCall& call) const { return bytes(call.counts[rank], call.type); }
  double operator()(const AllToAllCall& call) const {
    double all = 0;
    for (const std::int64_t count : call.sent) all += bytes(count, call.type);
    return all;
  }
  double operator()(const BroadcastCall& call) const {
    return std::cmp_equal(call.root, rank) ? bytes(call.elements, call.type) : 0;
  }
  double operator()(const BarrierCall& /*call*/) const { return 0; }
  double operator()(const PointToPointCall& call) const {
    double all = 0;
    for (const PointToPointMessage& message : call.messages)
      all += static_cast<double>(message.bytes) * static_cast<double>(message.repeat);
    return all;
  }

  double operator()(const SparseAllReduceCall& call) const { return static_cast<double>(call.payload_bytes); }

  static double bytes(std::int64_t elements, ElementType type) {
    return static_cast<double>(elements) * static_cast<double>(bytes_of(type));
  }
};

using Parse = std::function<CollectiveCall(JsonObject& object, int world_size)>;

const std::map<std::string, Parse>& parsers() {
  static const std::map<std::string, Parse> all = {
      {"all_reduce",
       [](JsonObject& object, int world_size) {
         AllReduceCall call{.type = read_type(object), .elements = read_count(object, "elements")};
         call.reduction = read_reduction(object);
         if (call.reduction == Reduction::scaled_sum &&
             (call.type != ElementType::uint8 || call.elements % reduced_block_bytes != 0)) {
           throw InputError(
               object.place_of("reduction"),
               fmt::format("is valid only for uint8 in blocks of {} elements", reduced_block_bytes));
         }
         object.read("largest_code", call.largest_code,
                     {.at_least = 1, .at_most = std::numeric_limits<std::int8_t>::max() / world_size});
         object.read("in_chunks", call.in_chunks);
         if (call.in_chunks && call.largest_code == 0) {
           throw InputError(object.place_of("in_chunks"), "is valid only for sums of codes");
         }
         if (call.largest_code > 0 && (call.reduction != Reduction::sum || call.type != ElementType::int8)) {
           throw InputError(object.place_of("largest_code"), "is valid only for sums of int8");
         }
         return call;
       }},
      {"all_gather_v",
       [](JsonObject& object, int world_size) {
         return AllGatherCall{.type = read_type(object), .counts = read_counts(object, "counts", world_size)};
       }},
      {"all_to_all_v",
       [](JsonObject& object, int world_size) {
         return AllToAllCall{.type = read_type(object),
                             .sent = read_counts(object, "sent", world_size),
                             .received = read_counts(object, "received", world_size)};
       }},
      {"broadcast",
       [](JsonObject& object, int world_size) {
         return BroadcastCall{.type = read_type(object),
                              .elements = read_count(object, "elements"),
                              .root = read_rank(object.get("root"), object.place_of("root"), world_size)};
       }},
      {"barrier", [](JsonObject& /*object*/, int /*world_size*/) { return BarrierCall{}; }},
      {"point_to_point",
       [](JsonObject& object, int world_size) {
         return PointToPointCall{.message_bytes = read_count(object, "message_bytes"),
                                 .messages = read_list(object, "posts", world_size, parse_message)};
       }},
      {"sparse_all_reduce",
       [](JsonObject& object, int world_size) {
         SparseAllReduceCall call{.elements = read_count(object, "elements"),
                                  .payload_bytes = read_count(object, "payload_bytes"),
                                  .edges = read_list(object, "edges", world_size, parse_edge)};
         const auto same =
             std::ranges::adjacent_find(call.edges, std::greater_equal(), &EdgeBytes::neighbour);
         if (same != call.edges.end())
           throw InputError(object.place_of("edges"), "must have each neighbour once, ascending");
         return call;
       }},
  };
  return all;
}

}  // namespace

std::string_view name_of(ElementType type) {
  return entry_of(type).name;
}

std::int64_t bytes_of(ElementType type) {
  return entry_of(type).bytes;
}

const AllReduceCall* chunked_all_reduce(const CollectiveCall& call) {
  const auto* const sum = std::get_if<AllReduceCall>(&call);
  return sum != nullptr && sum->in_chunks ? sum : nullptr;
}

double payload_bytes(const CollectiveCall& call, std::size_t rank) {
  return std::visit(PayloadBytes{rank}, call);
}

Json to_json(const CollectiveCall& call) {
  return std::visit(Writer{}, call);
}

CollectiveCall parse_call(const Json& value, const Place& place, int world_size) {
  JsonObject object(value, place);
  std::vector<std::string> names;
  for (const auto& [name, parse] : parsers()) names.push_back(name);
  std::string operation;
  object.read("operation", operation, {.one_of = names, .required = true});
  CollectiveCall call = parsers().at(operation)(object, world_size);
  object.finish();
  return call;
}

}  // namespace thinpipe
