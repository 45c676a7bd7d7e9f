// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/event.hh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "common/support/renamed_names.hh"
#include "common/support/utf8.hh"

namespace thinpipe {
namespace {

constexpr double any_number = std::numeric_limits<double>::max();

struct Bounds {
  double min = -any_number;
  double max = any_number;
};

// Upper bound of a count: sums over a long training run then stay within 64 bits.
constexpr double max_count = 0x1p53;
constexpr double max_bytes = 1e12;
constexpr Bounds count{0, max_count};
constexpr Bounds bytes{0, max_bytes};
constexpr Bounds seconds{0, 1e9};
constexpr Bounds bit_per_s{0, 1e15};
constexpr Bounds share{0, 1};
constexpr Bounds not_negative{0, any_number};

// Each visit() lists the members of an event. Reading and writing share these lists.

void visit(auto& members, event::Started& started) {
  members.required("pid", started.pid, Bounds{1, max_count});
  members.optional("libraries", started.libraries);
}

void visit(auto& members, event::Dataset& dataset) {
  members.required("hash", dataset.hash);
  members.optional("examples_per_worker", dataset.examples_per_worker, count);
}

void visit(auto& members, event::Heartbeat& heartbeat) {
  members.required("iteration", heartbeat.iteration, count);
  members.required("phase", heartbeat.phase);
}

void visit(auto& members, event::Resumed& resumed) {
  members.required("iteration", resumed.iteration, count);
  members.required("train_time_s", resumed.train_time_s, seconds);
}

void visit(auto& members, event::IterationStarted& started) {
  members.required("iteration", started.iteration, count);
  members.required("train_time_s", started.train_time_s, seconds);
  members.required("monotonic_s", started.monotonic_s, seconds);
}

void visit(auto& members, event::WorkerIteration& iteration) {
  members.required("iteration", iteration.iteration, count);
  members.required("monotonic_s", iteration.monotonic_s, seconds);
  members.required("iteration_time_s", iteration.iteration_time_s, seconds);
  members.required("compute_s", iteration.compute_s, seconds);
  members.required("exposed_exchange_s", iteration.exposed_exchange_s, seconds);
}

void visit(auto& members, event::WorkerTimes& times) {
  members.list("iterations", times.iterations);
}

void visit(auto& members, event::IterationTimes& times) {
  members.required("train_time_s", times.train_time_s, seconds);
  members.required("iteration_time_s", times.iteration_time_s, seconds);
  members.required("load_s", times.load_s, seconds);
  members.required("compute_s", times.compute_s, seconds);
  members.required("encode_s", times.encode_s, seconds);
  members.required("exchange_s", times.exchange_s, seconds);
  members.required("decode_s", times.decode_s, seconds);
  members.required("exposed_exchange_s", times.exposed_exchange_s, seconds);
  members.optional("first_bucket_s", times.first_bucket_s, seconds);
  members.required("cpu_s", times.cpu_s, seconds);
}

void visit(auto& members, event::Iteration& iteration) {
  members.required("iteration", iteration.iteration, count);
  members.required("epoch", iteration.epoch, count);
  members.times(iteration.times);
  members.optional("train_loss", iteration.train_loss);
  members.optional("applied", iteration.applied);
  members.required("payload_bytes", iteration.payload_bytes, bytes);
  members.required("sent_bytes", iteration.sent_bytes, bytes);
  members.optional("delivered_bytes", iteration.delivered_bytes, bytes);
  members.others(iteration.others);
}

void visit(auto& members, event::Evaluation& evaluation) {
  members.required("iteration", evaluation.iteration, count);
  members.required("epoch", evaluation.epoch, count);
  members.required("train_time_s", evaluation.train_time_s, seconds);
  members.required("train_loss", evaluation.train_loss);
  members.required("test_loss", evaluation.test_loss);
  members.required("test_accuracy", evaluation.test_accuracy, share);
  members.others(evaluation.others);
}

void visit(auto& members, event::Summary& summary) {
  members.optional("parameters", summary.parameters, count);
  members.any("pruning", summary.pruning);
  members.any("synchroniser", summary.synchroniser);
  members.optional("effective_density", summary.effective_density, not_negative);
  members.optional("vnmse", summary.vnmse, not_negative);
  members.optional("encode_cpu_s", summary.encode_cpu_s, seconds);
  members.optional("decode_cpu_s", summary.decode_cpu_s, seconds);
  members.optional("skipped_steps", summary.skipped_steps, count);
  members.optional("parameters_hash", summary.parameters_hash);
}

void visit(auto& members, event::Finished& finished) {
  members.optional("peak_memory_bytes", finished.peak_memory_bytes, count);
}

void visit(auto& members, event::Interrupted& interrupted) {
  members.required("iteration", interrupted.iteration, count);
}

void visit(auto& members, event::Failed& failed) {
  members.required("kind", failed.kind);
  members.required("message", failed.message);
}

void visit(auto& members, event::Pretraining& pretraining) {
  members.required("iteration", pretraining.iteration, count);
  members.required("iterations", pretraining.iterations, count);
  members.required("train_loss", pretraining.train_loss);
}

void visit(auto& members, event::Pretrained& pretrained) {
  members.required("test_accuracy", pretrained.test_accuracy, share);
  members.optional("train_time_s", pretrained.train_time_s, seconds);
}

void visit(auto& /*members*/, event::Replaying& /*replaying*/) {}

void visit(auto& members, event::ReplayedIteration& iteration) {
  members.required("iteration", iteration.iteration, count);
  members.optional("represents_first_step", iteration.represents_first_step);
  visit(members, iteration.times);
  members.required("payload_bytes", iteration.payload_bytes, bytes);
  members.required("sent_bytes", iteration.sent_bytes, bytes);
}

void visit(auto& members, event::ReplayedClass& each) {
  members.required("steps", each.steps, count);
  members.required("iterations", each.iterations, count);
  members.required("mean_s", each.mean_s, seconds);
  members.required("ci95_half_width_s", each.half_width_s, seconds);
}

void visit(auto& members, event::Replayed& replayed) {
  members.list("classes", replayed.classes);
}

void visit(auto& members, event::MeasuredNetwork& measured) {
  members.required("node", measured.node);
  members.required("network_interface", measured.network_interface);
  members.required("address", measured.address);
  members.required("connected_bit_per_s", measured.connected_bit_per_s, bit_per_s);
  members.required("pairs_at_a_time", measured.pairs_at_a_time, count);
  members.required("received_bit_per_s", measured.received_bit_per_s, bit_per_s);
  members.required("round_trips_s", measured.round_trips_s, seconds);
  members.required("sent_bytes_before", measured.sent_bytes_before, count);
  members.required("received_bytes_before", measured.received_bytes_before, count);
  members.required("sent_bytes_after", measured.sent_bytes_after, count);
  members.required("received_bytes_after", measured.received_bytes_after, count);
}

// Each returns whether the value has the type and lies within the bounds, and then assigns it.
bool assign(const Json& value, const Bounds& bounds, double& out) {
  if (!value.is_number()) return false;
  out = value.get<double>();
  return out >= bounds.min && out <= bounds.max;
}
bool assign(const Json& value, const Bounds& bounds, std::int64_t& out) {
  double number = 0;
  if (!value.is_number_integer() || !assign(value, bounds, number)) return false;
  out = value.get<std::int64_t>();
  return true;
}
bool assign(const Json& value, const Bounds& /*bounds*/, bool& out) {
  if (value.is_boolean()) out = value.get<bool>();
  return value.is_boolean();
}
bool assign(const Json& value, const Bounds& /*bounds*/, std::string& out) {
  if (value.is_string()) out = value.get<std::string>();
  return value.is_string();
}
bool assign(const Json& value, const Bounds& /*bounds*/, Json& out) {
  if (value.is_object()) out = value;
  return value.is_object();
}
template <class T>
bool assign(const Json& value, const Bounds& bounds, std::vector<T>& out) {
  if (!value.is_array()) return false;
  out.clear();
  return std::ranges::all_of(
      value, [&](const Json& element) { return assign(element, bounds, out.emplace_back()); });
}
template <class T>
bool assign(const Json& value, const Bounds& bounds, std::optional<T>& out) {
  out.reset();
  return value.is_null() || assign(value, bounds, out.emplace());
}

std::string describe(const Bounds& bounds, std::string_view type) {
  if (bounds.max < any_number) return fmt::format("{} from {:g} to {:g}", type, bounds.min, bounds.max);
  if (bounds.min > -any_number) return fmt::format("{} of at least {:g}", type, bounds.min);
  return std::string(type);
}
std::string describe(const Bounds& bounds, const double& /*type*/) {
  return describe(bounds, "a number");
}
std::string describe(const Bounds& bounds, const std::int64_t& /*type*/) {
  return describe(bounds, "a whole number");
}
std::string describe(const Bounds& /*bounds*/, const bool& /*type*/) {
  return "true or false";
}
std::string describe(const Bounds& /*bounds*/, const std::string& /*type*/) {
  return "a string";
}
std::string describe(const Bounds& /*bounds*/, const Json& /*type*/) {
  return "an object";
}
template <class T>
std::string describe(const Bounds& bounds, const std::vector<T>& /*type*/) {
  return "a list, each element " + describe(bounds, T());
}
template <class T>
std::string describe(const Bounds& bounds, const std::optional<T>& /*type*/) {
  return fmt::format("{} or null", describe(bounds, T()));
}

// Returns the value as text for a message.
std::string shown(const Json& value) {
  constexpr std::size_t max_shown = 100;
  return printable(value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, max_shown));
}

class EventReader {
 public:
  // `object`: the event, or a part of it.
  EventReader(std::string_view event_name, const Json& object) : event_name_(event_name), object_(object) {}

  template <class T>
  void required(std::string_view name, T& out, const Bounds& bounds = {}) {
    const Json* const member = find(name);
    if (member == nullptr && times_are_null_) return;
    if (member == nullptr) {
      for (const auto& [key, unused] : object_.items()) {
        if (renamed_names().current_name(key, {std::string(name)})) {
          throw InvalidEvent(fmt::format("reported an event \"{}\" with \"{}\", which is now called \"{}\"",
                                         event_name_, key, name));
        }
      }
      throw InvalidEvent(fmt::format("reported an event \"{}\" without \"{}\"", event_name_, name));
    }
    read(name, *member, out, bounds);
  }

  template <class T>
  void optional(std::string_view name, T& out, const Bounds& bounds = {}) {
    if (const Json* const member = find(name)) read(name, *member, out, bounds);
  }

  void any(std::string_view name, Json& out) {
    if (const Json* const member = find(name)) out = *member;
  }

  void times(std::optional<event::IterationTimes>& out) {
    std::optional<double> train_time_s;
    required("train_time_s", train_time_s, seconds);
    event::IterationTimes times;
    times_are_null_ = !train_time_s;
    visit(*this, times);
    times_are_null_ = false;
    if (train_time_s) out = times;
  }

  template <class T>
  void list(std::string_view name, std::vector<T>& out) {
    const Json* const member = find(name);
    const auto is_object = [](const Json& item) { return item.is_object(); };
    if (member == nullptr || !member->is_array() || !std::ranges::all_of(*member, is_object)) {
      refuse(name, member == nullptr ? Json(nullptr) : *member, "a list of objects");
    }
    for (const Json& item : *member) {
      EventReader reader(event_name_, item);
      visit(reader, out.emplace_back());
    }
  }

  // Copies the members that were not read.
  void others(Json& out) const {
    for (const auto& item : object_.items()) {
      if (std::ranges::find(known_, item.key()) == known_.end()) out[item.key()] = item.value();
    }
  }

 private:
  const Json* find(std::string_view name) {
    known_.push_back(name);
    const auto member = object_.find(name);
    return member == object_.end() ? nullptr : &*member;
  }

  template <class T>
  void read(std::string_view name, const Json& value, T& out, const Bounds& bounds) const {
    if (times_are_null_) {
      if (!value.is_null()) refuse(name, value, "null like \"train_time_s\"");
    } else if (!assign(value, bounds, out)) {
      refuse(name, value, describe(bounds, out));
    }
  }

  [[noreturn]] void refuse(std::string_view name, const Json& value, std::string_view rule) const {
    throw InvalidEvent(fmt::format("reported an event \"{}\" whose \"{}\" is {}, but must be {}", event_name_,
                                   name, shown(value), rule));
  }

  std::string_view event_name_;
  const Json& object_;
  std::vector<std::string_view> known_ = {"event"};
  bool times_are_null_ = false;  // while it reads the parts of an iteration's time: all must be null
};

class EventWriter {
 public:
  explicit EventWriter(Json& out) : out_(out) {}

  void required(std::string_view name, const auto& value, const Bounds& /*bounds*/ = {}) { set(name, value); }
  void optional(std::string_view name, const auto& value, const Bounds& /*bounds*/ = {}) { set(name, value); }
  void any(std::string_view name, const Json& value) { set(name, value); }

  void times(std::optional<event::IterationTimes>& times) {
    if (times) {
      visit(*this, *times);
    } else {
      out_["train_time_s"] = nullptr;
    }
  }

  template <class T>
  void list(std::string_view name, std::vector<T>& items) {
    Json& list = out_[std::string(name)] = Json::array();
    for (T& item : items) {
      EventWriter writer(list.emplace_back(Json::object()));
      visit(writer, item);
    }
  }

  void others(const Json& others) {
    for (const auto& item : others.items()) out_.emplace(item.key(), item.value());
  }

 private:
  template <class T>
  static Json json_of(const T& value) {
    if constexpr (std::is_same_v<T, double>) {  // JSON has neither NaN nor infinity
      return std::isfinite(value) ? Json(value) : Json(nullptr);
    } else {
      return value;
    }
  }
  template <class T>
  static Json json_of(const std::optional<T>& value) {
    return value ? json_of(*value) : Json(nullptr);
  }

  template <class T>
  void set(std::string_view name, const T& value) {
    out_[std::string(name)] = json_of(value);
  }

  Json& out_;
};

template <class Kind>
std::optional<Event> parse_if_named(const std::string& name, const Json& value) {
  if constexpr (std::is_same_v<Kind, event::Other>) {
    return event::Other{value};
  } else {
    if (name != Kind::name) return std::nullopt;
    Kind out;
    EventReader reader(name, value);
    visit(reader, out);
    return out;
  }
}

// Event::Other is the last alternative.
template <class... Kinds>
Event parse(const std::string& name, const Json& value, const std::variant<Kinds...>* /*alternatives*/) {
  std::optional<Event> out;
  static_cast<void>(((out = parse_if_named<Kinds>(name, value)) || ...));
  return *std::move(out);
}

}  // namespace

Json to_json(const Event& event) {
  return std::visit(
      []<class Kind>(Kind kind) {
        if constexpr (std::is_same_v<Kind, event::Other>) {
          return kind.content;
        } else {
          Json out = {{"event", Kind::name}};
          EventWriter writer(out);
          visit(writer, kind);
          return out;
        }
      },
      event);
}

Event parse_event(const Json& value) {
  if (!value.is_object()) throw InvalidEvent("reported " + shown(value) + ", which is not an object");
  const auto name = value.find("event");
  if (name == value.end() || !name->is_string()) {
    throw InvalidEvent("reported " + shown(value) + ", in which \"event\" is not a string");
  }
  return parse(name->get<std::string>(), value, static_cast<const Event*>(nullptr));
}

}  // namespace thinpipe
