// SPDX-License-Identifier: Apache-2.0
#include "harness/records/record_data.hh"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "harness/records/parsed_json.hh"
#include "harness/records/record_members.hh"

namespace thinpipe {
namespace {

using record::Allowed;

// A target is a member with the name of its metric.
const std::map<std::string, Target::Metric>& metrics() {
  static const auto by_name = [] {
    std::map<std::string, Target::Metric> out;
    for (const auto metric : {Target::Metric::accuracy, Target::Metric::test_loss,
                              Target::Metric::bits_per_byte, Target::Metric::perplexity})
      out.emplace(name_of(metric), metric);
    return out;
  }();
  return by_name;
}

template <class T>
constexpr bool is_value = std::is_arithmetic_v<T> || std::same_as<T, std::string> || std::same_as<T, Json>;
template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;
template <class T>
constexpr bool is_vector = false;
template <class T>
constexpr bool is_vector<std::vector<T>> = true;
template <class T>
constexpr bool is_map = false;
template <class T>
constexpr bool is_map<std::map<std::string, T>> = true;

Json as_json(const Json& value) {
  return value;
}
Json as_json(const ParsedJson& value) {
  return value.to_json();
}

const Json* find_member(const Json& object, std::string_view name) {
  const auto member = object.find(name);
  return member == object.end() ? nullptr : &*member;
}
std::optional<ParsedJson> find_member(const ParsedJson& object, std::string_view name) {
  return object.find(name);
}

void for_each_member(const Json& object, const auto& act) {
  for (const auto& [name, value] : object.items()) act(std::string_view(name), value);
}
void for_each_member(const ParsedJson& object, const auto& act) {
  for (const auto member : object.members()) act(member.key, ParsedJson(member.value));
}

void for_each_element(const Json& array, const auto& act) {
  for (const Json& element : array) act(element);
}
void for_each_element(const ParsedJson& array, const auto& act) {
  for (const auto element : array.elements()) act(ParsedJson(element));
}

bool fits(double number, const Allowed& allowed) {
  return number >= allowed.at_least && number > allowed.above && number <= allowed.at_most;
}

bool fits(const std::string& text, const Allowed& allowed) {
  constexpr std::size_t id_digits = 16;
  if (allowed.is_run_id)
    return text.size() == id_digits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  return allowed.one_of.empty() || std::ranges::find(allowed.one_of, text) != allowed.one_of.end();
}

// Values are Json or ParsedJson.

// Each returns whether the value has the type and is allowed, and then assigns it.
bool assign(const auto& value, const Allowed& allowed, double& out) {
  if (!value.is_number()) return false;
  out = value.template get<double>();
  return fits(out, allowed);
}
bool assign(const auto& value, const Allowed& allowed, std::int64_t& out) {
  double number = 0;
  if (!assign(value, allowed, number) || number != std::floor(number) || std::abs(number) > 0x1p53)
    return false;
  out = static_cast<std::int64_t>(number);
  return true;
}
bool assign(const auto& value, const Allowed& /*allowed*/, bool& out) {
  if (value.is_boolean()) out = value.template get<bool>();
  return value.is_boolean();
}
bool assign(const auto& value, const Allowed& allowed, std::string& out) {
  if (value.is_string()) out = value.template get<std::string>();
  return value.is_string() && fits(out, allowed);
}
bool assign(const auto& value, const Allowed& /*allowed*/, Json& out) {
  const bool is_object = value.is_object();
  if (is_object) out = as_json(value);
  return is_object;
}

std::string described(std::string_view type, const Allowed& allowed) {
  const auto number = [](double bound) { return bound == 0x1p53 ? "2^53" : fmt::format("{:g}", bound); };
  if (allowed.above > -record::unbounded) {
    const std::string above = fmt::format("{} above {}", type, number(allowed.above));
    return allowed.at_most == record::unbounded
               ? above
               : fmt::format("{} and at most {}", above, number(allowed.at_most));
  }
  if (allowed.at_least == -record::unbounded) return std::string(type);
  if (allowed.at_most == record::unbounded)
    return fmt::format("{} of at least {}", type, number(allowed.at_least));
  return fmt::format("{} from {} to {}", type, number(allowed.at_least), number(allowed.at_most));
}

std::string described(std::span<const std::string_view> names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " or " : ", ";
    out += names[i];
  }
  return out;
}

// Returns the rule for a value, as in "must be a number from 0 to 1 or null".
template <class T>
std::string rule_of(const Allowed& allowed) {
  if constexpr (is_optional<T>) {
    return fmt::format("{} or null", rule_of<typename T::value_type>(allowed));
  } else if constexpr (std::same_as<T, double>) {
    return described("a number", allowed);
  } else if constexpr (std::same_as<T, std::int64_t>) {
    return described("an integer", allowed);
  } else if constexpr (std::same_as<T, bool>) {
    return "true or false";
  } else if constexpr (std::same_as<T, std::string>) {
    if (allowed.is_run_id) return "a run id, which has 16 digits of 0-9 and a-f";
    return allowed.one_of.empty() ? "a string" : described(allowed.one_of);
  } else {
    return is_vector<T> ? "an array" : "an object";
  }
}

// The path to a value in a record, as a chain on the stack.
struct Step {
  const Step* parent = nullptr;
  std::string_view name = {};  // of a member
  std::size_t index = 0;       // of an element, if there is no name

  Place place(const std::string& file, const std::string& beginning) const {
    if (parent == nullptr) return {file, beginning};
    const Place above = parent->place(file, beginning);
    return name.data() == nullptr ? above / index : above / name;
  }
};

// The value that is being read.
struct Source {
  const std::string& file;
  const std::string& place;  // the value's own in a record
  Json& others;              // of the record

  [[noreturn]] void refuse(const Step& at, const std::string& what) const {
    throw InputError(at.place(file, place), what);
  }
};

template <class Value, class T>
void read(const Source& source, const Step& at, const Value& value, T& out, const Allowed& allowed);

// Reads the members of an object.
template <class Object>
class Reader {
 public:
  Reader(const Source& source, const Step& at, const Object& object)
      : source_(source), at_(at), object_(object) {}

  template <class T>
  void required(std::string_view name, T& out, const Allowed& allowed = {}) {
    const auto member = find(name);
    if (!member) refuse(name, fmt::format("is missing; it must be {}", rule_of<T>(allowed)));
    read(source_, {&at_, name}, *member, out, allowed);
  }

  template <class T>
  void optional(std::string_view name, std::optional<T>& out, const Allowed& allowed = {}) {
    if (const auto member = find(name)) read(source_, {&at_, name}, *member, out.emplace(), allowed);
  }

  void any(std::string_view name, Json& out) {
    const auto member = find(name);
    if (!member) refuse(name, "is missing");
    out = as_json(*member);
  }

  void version(std::string_view name, int wanted) {
    const auto member = find(name);
    if (!member || !member->is_number() || member->template get<double>() != wanted)
      refuse(name, fmt::format("must be {}", wanted));
  }

  // Reads the one member that a metric names.
  void target(Target& out) {
    int found = 0;
    for (const auto& [name, metric] : metrics()) {
      if (!find_member(object_, name)) continue;
      ++found;
      out.metric = metric;
      required(name, out.value,
               metric == Target::Metric::accuracy ? record::positive_share : record::positive);
    }
    rule(found == 1, "", "must have one of accuracy, test_loss, bits_per_byte and perplexity");
  }

  // Throws InputError unless the rule holds. `name`: of the member that breaks it; empty: the object does.
  void rule(bool holds, std::string_view name, const char* what) const {
    if (holds) return;
    if (name.empty()) source_.refuse(at_, what);
    refuse(name, what);
  }

  // Keeps the members that were not read.
  void keep_others() const {
    if (known_.size() == object_.size()) return;
    for_each_member(object_, [&](std::string_view name, const auto& member) {
      if (std::ranges::find(known_, name) == known_.end())
        source_.others[Step{&at_, name}.place({}, source_.place).pointer] = as_json(member);
    });
  }

 private:
  // `name`: a literal, or as long-lived.
  auto find(std::string_view name) {
    auto member = find_member(object_, name);
    if (member) known_.push_back(name);
    return member;
  }

  [[noreturn]] void refuse(std::string_view name, const std::string& what) const {
    source_.refuse({&at_, name}, what);
  }

  const Source& source_;
  const Step& at_;
  const Object& object_;
  std::vector<std::string_view> known_;  // members that were found
};

template <class Value, class T>
void read(const Source& source, const Step& at, const Value& value, T& out, const Allowed& allowed) {
  const auto require = [&](bool holds) {
    if (!holds) source.refuse(at, "must be " + rule_of<T>(allowed));
  };
  if constexpr (is_value<T>) {
    require(assign(value, allowed, out));
  } else if constexpr (is_optional<T>) {
    using Inner = typename T::value_type;
    if (value.is_null()) {
      out.reset();
      return;
    }
    if constexpr (is_value<Inner>) {
      require(assign(value, allowed, out.emplace()));
    } else {
      require(is_vector<Inner> ? value.is_array() : value.is_object());
      read(source, at, value, out.emplace(), allowed);
    }
  } else if constexpr (is_vector<T>) {
    require(value.is_array());
    for_each_element(value, [&](const Value& element) {
      const Step step{&at, {}, out.size()};
      read(source, step, element, out.emplace_back(), allowed);
    });
  } else if constexpr (is_map<T>) {
    require(value.is_object());
    for_each_member(value, [&](std::string_view name, const Value& member) {
      read(source, {&at, name}, member, out[std::string(name)], allowed);
    });
  } else {
    require(value.is_object());
    Reader<Value> reader(source, at, value);
    record::visit(reader, out);
    reader.keep_others();
  }
}

template <class T>
Json written(const T& value);

class Writer {
 public:
  explicit Writer(Json& out) : out_(out) {}

  void required(std::string_view name, const auto& value, const Allowed& /*allowed*/ = {}) {
    out_[std::string(name)] = written(value);
  }
  template <class T>
  void optional(std::string_view name, const std::optional<T>& value, const Allowed& /*allowed*/ = {}) {
    if (value) required(name, *value);
  }
  void any(std::string_view name, const Json& value) { out_[std::string(name)] = value; }
  void version(std::string_view name, int value) { out_[std::string(name)] = value; }
  void target(const Target& target) { out_[name_of(target.metric)] = target.value; }
  void rule(bool /*holds*/, std::string_view /*name*/, const char* /*what*/) {}

 private:
  Json& out_;
};

template <class T>
Json written(const T& value) {
  if constexpr (std::same_as<T, double>) {  // JSON has neither NaN nor infinity
    return std::isfinite(value) ? Json(value) : Json(nullptr);
  } else if constexpr (is_value<T>) {
    return value;
  } else if constexpr (is_optional<T>) {
    return value ? written(*value) : Json(nullptr);
  } else if constexpr (is_vector<T>) {
    Json out = Json::array();
    for (const auto& element : value) out.push_back(written(element));
    return out;
  } else {
    Json out = Json::object();
    if constexpr (is_map<T>) {
      for (const auto& [name, member] : value) out[name] = written(member);
    } else {
      Writer writer(out);
      record::visit(writer, value);
    }
    return out;
  }
}

// Throws InputError unless the members of `record` that stay JSON are as reports need them.
void check_free_parts(const Record& record, const std::string& file) {
  links_of(record.config);
  const auto started_at = record.provenance.find("started_at");
  if (started_at != record.provenance.end() && !started_at->is_string())
    throw InputError({file, "/provenance/started_at"}, "must be a string");
}

}  // namespace

Json to_json(const Record& record) {
  Json out = written(record);
  for (const auto& [place, value] : record.others.items()) {
    const Json::json_pointer pointer(place);
    // The part may have been replaced since it was read.
    if (const auto above = pointer.parent_pointer(); out.contains(above) && out.at(above).is_object())
      out[pointer] = value;
  }
  return out;
}

namespace {

Record read_record(const auto& value, const std::string& file) {
  Record record;
  read({file, "", record.others}, {}, value, record, {});
  check_free_parts(record, file);
  return record;
}

}  // namespace

Record parse_record(const Json& value, const std::string& file) {
  return read_record(value, file);
}
Record record_of(const ParsedJson& value, const std::string& file) {
  return read_record(value, file);
}

template <class Part>
Part parse_part(const Json& value, const std::string& place) {
  Part out;
  Json others = Json::object();
  read({"", place, others}, {}, value, out, {});
  return out;
}
template <class Part>
Json write_part(const Part& part) {
  return written(part);
}
template Json write_part(const std::optional<record::Failure>&);
template Json write_part(const std::optional<record::IterationTime>&);
template Json write_part(const record::Prediction&);
template Json write_part(const record::Fidelity&);

template std::optional<record::IdleCores> parse_part(const Json&, const std::string&);
template std::optional<record::CpuPressure> parse_part(const Json&, const std::string&);
template std::optional<record::InitialWeights> parse_part(const Json&, const std::string&);
template std::optional<record::TrainClock> parse_part(const Json&, const std::string&);
template std::optional<record::ComputeProfile> parse_part(const Json&, const std::string&);
template std::optional<record::Prediction> parse_part(const Json&, const std::string&);
template std::optional<record::Fidelity> parse_part(const Json&, const std::string&);
template std::optional<record::Pruning> parse_part(const Json&, const std::string&);
template std::vector<record::NetworkEvent> parse_part(const Json&, const std::string&);
template std::vector<record::CrossFlow> parse_part(const Json&, const std::string&);
template std::vector<record::Connections> parse_part(const Json&, const std::string&);

record::Failure recorded(const Failure& failure) {
  const auto exit_status = failure.exit_status.empty() ? std::nullopt : std::optional(failure.exit_status);
  return {.kind = failure.kind,
          .rank = failure.rank,
          .message = failure.message,
          .exit_status = exit_status,
          .log_tail = failure.log_tail,
          .workers = failure.worker_states};
}

std::vector<RecordedLink> links_of(const Json& config) {
  static const Json::json_pointer links("/topology/links");
  if (!config.contains(links)) return {};
  return parse_part<std::vector<RecordedLink>>(config.at(links), "/config" + links.to_string());
}

}  // namespace thinpipe
