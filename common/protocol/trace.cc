// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/trace.hh"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "common/support/renamed_names.hh"

namespace thinpipe {
namespace {

template <class Item>
Json list_of(const std::vector<Item>& items, const std::function<Json(const Item&)>& write) {
  Json out = Json::array();
  for (const Item& item : items) out.push_back(write(item));
  return out;
}

Json parameter_to_json(const TracedParameter& parameter) {
  return {{"name", parameter.name}, {"elements", parameter.elements}};
}

Json layout_to_json(const TracedLayout& layout) {
  return list_of<TracedBucket>(layout, [](const TracedBucket& bucket) { return Json(bucket.parameters); });
}

Json exchange_to_json(const Exchange& exchange) {
  const auto calls_to_json = [](const std::vector<CollectiveCall>& calls) {
    return list_of<CollectiveCall>(calls, [](const CollectiveCall& call) { return to_json(call); });
  };
  return {{"layout", exchange.layout},
          {"buckets", list_of<std::vector<CollectiveCall>>(exchange.buckets, calls_to_json)},
          {"overlap_steps", exchange.overlap_steps ? Json(*exchange.overlap_steps) : Json(nullptr)}};
}

// [exchange or null, steps]
Json steps_to_json(const std::vector<StepRun>& runs) {
  return list_of<StepRun>(runs, [](const StepRun& run) {
    return Json::array({run.exchange ? Json(*run.exchange) : Json(nullptr), run.steps});
  });
}

// Reads each item of a list.
template <class Item>
std::vector<Item> parse_list(const Json& value, const Place& place,
                             const std::function<Item(const Json&, const Place&)>& read) {
  if (!value.is_array()) throw InputError(place, "must be a list, but is " + value.dump());
  std::vector<Item> out;
  for (std::size_t i = 0; i < value.size(); ++i) out.push_back(read(value[i], place / i));
  return out;
}

template <class Item>
std::vector<Item> parse_member(JsonObject& object, std::string_view key,
                               const std::function<Item(const Json&, const Place&)>& read) {
  return parse_list<Item>(object.get(key), object.place_of(key), read);
}

std::size_t parse_index(const Json& value, const Place& place, std::size_t count, std::string_view of) {
  std::int64_t index = 0;
  read_value(value, place, {.at_least = 0}, index);
  if (static_cast<std::size_t>(index) >= count) {
    throw InputError(place, fmt::format("must be below {}, the number of {}, but is {}", count, of, index));
  }
  return static_cast<std::size_t>(index);
}

TracedParameter parse_parameter(const Json& value, const Place& place) {
  JsonObject object(value, place);
  TracedParameter parameter;
  object.read("name", parameter.name, {.required = true});
  object.read("elements", parameter.elements, {.at_least = 0, .required = true});
  object.finish();
  return parameter;
}

TracedLayout parse_layout(const Json& value, const Place& place, std::size_t parameters) {
  return parse_list<TracedBucket>(value, place, [&](const Json& bucket, const Place& bucket_place) {
    return TracedBucket{parse_list<std::size_t>(
        bucket, bucket_place, [&](const Json& parameter, const Place& parameter_place) {
          return parse_index(parameter, parameter_place, parameters, "parameters");
        })};
  });
}

Exchange parse_exchange(const Json& value, const Place& place, const CommunicationTrace& trace) {
  JsonObject object(value, place);
  Exchange exchange;
  exchange.layout =
      parse_index(object.get("layout"), object.place_of("layout"), trace.layouts.size(), "layouts");
  exchange.buckets = parse_member<std::vector<CollectiveCall>>(
      object, "buckets", [&](const Json& bucket, const Place& bucket_place) {
        return parse_list<CollectiveCall>(bucket, bucket_place, [&](const Json& call, const Place& at) {
          return parse_call(call, at, trace.world_size);
        });
      });
  object.read("overlap_steps", exchange.overlap_steps, {.at_least = 0, .at_most = max_repeats});
  object.finish();
  const std::size_t buckets = trace.layouts[exchange.layout].size();
  if (exchange.buckets.size() != buckets) {
    throw InputError(object.place_of("buckets"),
                     fmt::format("must have {} entries, one per bucket of its layout, but has {}", buckets,
                                 exchange.buckets.size()));
  }
  return exchange;
}

std::vector<StepRun> parse_steps(const Json& value, const Place& place, std::size_t exchanges) {
  return parse_list<StepRun>(value, place, [&](const Json& item, const Place& item_place) {
    if (!item.is_array() || item.size() != 2) {
      throw InputError(item_place, "must be [exchange or null, steps], but is " + item.dump());
    }
    StepRun run;
    if (!item[0].is_null()) run.exchange = parse_index(item[0], item_place / 0U, exchanges, "exchanges");
    read_value(item[1], item_place / 1U, {.at_least = 1, .at_most = max_repeats}, run.steps);
    return run;
  });
}

std::int64_t steps_of(const std::vector<StepRun>& runs) {
  std::int64_t steps = 0;
  for (const StepRun& run : runs) steps += run.steps;
  return steps;
}

void check_workers(const CommunicationTrace& trace, const Place& place) {
  if (std::ssize(trace.workers) != trace.world_size) {
    throw InputError(place, fmt::format("must have {} entries, one for each worker, but has {}",
                                        trace.world_size, trace.workers.size()));
  }
  for (std::size_t rank = 1; rank < trace.workers.size(); ++rank) {
    const std::int64_t steps = steps_of(trace.workers[rank]);
    if (steps != trace.steps()) {
      throw InputError(place / rank, fmt::format("has {} steps, but worker 0 has {}", steps, trace.steps()));
    }
  }
}

std::int64_t trace_version(const Json& value, const std::string& file) {
  JsonObject object(value, {file, ""});
  std::int64_t version = 0;
  object.read("schema_version", version, {.at_least = 1, .required = true});
  if (version > trace_schema_version) {
    throw InputError(object.place_of("schema_version"),
                     fmt::format("is {}: the trace was made by a newer thinpipe; this one reads up to {}",
                                 version, trace_schema_version));
  }
  return version;
}

// Earlier versions do not say when an exchange began. Changes of weights, which methods with local steps
// exchange, are known at the end of a step.
void put_exchanges_of_changes_at_ends_of_steps(CommunicationTrace& trace) {
  const bool has_local_steps = std::ranges::any_of(
      trace.workers.front(), [](const StepRun& run) { return !run.exchange.has_value(); });
  if (!has_local_steps) return;
  for (Exchange& exchange : trace.exchanges) exchange.overlap_steps = 0;
}

}  // namespace

std::int64_t CommunicationTrace::steps() const {
  return steps_of(workers.front());
}

Json to_json(const CommunicationTrace& trace) {
  return {{"schema_version", trace_schema_version},
          {"world_size", trace.world_size},
          {"configuration", trace.configuration},
          {"parameters", list_of<TracedParameter>(trace.parameters, parameter_to_json)},
          {"layouts", list_of<TracedLayout>(trace.layouts, layout_to_json)},
          {"exchanges", list_of<Exchange>(trace.exchanges, exchange_to_json)},
          {"workers", list_of<std::vector<StepRun>>(trace.workers, steps_to_json)}};
}

CommunicationTrace parse_trace(const Json& value, const std::string& file) {
  Json upgraded;
  const std::int64_t version = trace_version(value, file);
  if (version < trace_schema_version) {
    upgraded = value;
    renamed_names().upgrade(upgraded, "communication_trace");
  }
  JsonObject object(upgraded.is_null() ? value : upgraded, {file, ""});
  object.find("schema_version");
  std::int64_t world_size = 0;
  constexpr std::int64_t largest_world = 1 << 20;
  object.read("world_size", world_size, {.at_least = 1, .at_most = largest_world, .required = true});
  CommunicationTrace trace{.world_size = static_cast<int>(world_size)};
  object.read("configuration", trace.configuration, {.required = true});
  trace.parameters = parse_member<TracedParameter>(object, "parameters", parse_parameter);
  trace.layouts = parse_member<TracedLayout>(object, "layouts", [&](const Json& layout, const Place& place) {
    return parse_layout(layout, place, trace.parameters.size());
  });
  trace.exchanges = parse_member<Exchange>(
      object, "exchanges",
      [&](const Json& exchange, const Place& place) { return parse_exchange(exchange, place, trace); });
  trace.workers =
      parse_member<std::vector<StepRun>>(object, "workers", [&](const Json& steps, const Place& place) {
        return parse_steps(steps, place, trace.exchanges.size());
      });
  object.finish();
  check_workers(trace, object.place_of("workers"));
  constexpr std::int64_t first_with_overlap = 6;
  if (version < first_with_overlap) put_exchanges_of_changes_at_ends_of_steps(trace);
  return trace;
}

CommunicationTrace load_trace(const std::string& path) {
  return parse_trace(parse_json_file(path), path);
}

}  // namespace thinpipe
