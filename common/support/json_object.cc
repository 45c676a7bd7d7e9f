// SPDX-License-Identifier: Apache-2.0
#include "common/support/json_object.hh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "common/support/file_descriptor.hh"
#include "common/support/nearest.hh"
#include "common/support/renamed_names.hh"

namespace thinpipe {
namespace {

// Up to this number, a double holds every whole number exactly.
constexpr double largest_exact_double = 0x1p53;
// nlohmann's messages quote the last token, whatever its length.
constexpr std::size_t max_explanation_bytes = 300;

[[noreturn]] void refuse(const Json& value, const Place& place, std::string_view rule) {
  throw InputError(place, fmt::format("must be {}, but is {}", rule, value.dump()));
}

std::string bounds(const Rule& rule, bool whole) {
  std::string out;
  const auto add = [&out](std::string_view word, const std::optional<double>& bound, const auto& print) {
    if (bound) out += fmt::format("{}{} {}", out.empty() ? "" : " and ", word, print(*bound));
  };
  const auto print = [&rule, whole](double bound) {
    return rule.quantity ? format_quantity(*rule.quantity, bound)
           : whole       ? fmt::format("{:.0f}", bound)
                         : fmt::format("{:g}", bound);
  };
  add("above", rule.above, print);
  add("at least", rule.at_least, print);
  add("below", rule.below, print);
  add("at most", rule.at_most, print);
  return out;
}

// `number` is a long double because a double does not hold every std::int64_t exactly.
void check_bounds(const Json& value, const Place& place, const Rule& rule, long double number, bool whole) {
  static_assert(std::numeric_limits<long double>::digits >= 63);
  const bool ok = (!rule.above || number > *rule.above) && (!rule.at_least || number >= *rule.at_least) &&
                  (!rule.below || number < *rule.below) && (!rule.at_most || number <= *rule.at_most);
  if (!ok) refuse(value, place, bounds(rule, whole));
}

// Reads 2.0 and 2e0 as the integer 2, as JSON Schema does, unless the number is so large that a double may
// have lost digits.
std::int64_t whole_number(const Json& value, const Place& place) {
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  const bool too_large = value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{largest};
  if (value.is_number_integer() && !too_large) return value.get<std::int64_t>();
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (number == std::floor(number) && std::abs(number) < largest_exact_double) {
      return static_cast<std::int64_t>(number);
    }
    if (std::abs(number) >= largest_exact_double && std::abs(number) < static_cast<double>(largest)) {
      refuse(value, place, "written without a point or an exponent, which would lose digits at this size");
    }
  }
  const bool beyond =
      too_large || (value.is_number_float() && std::abs(value.get<double>()) >= static_cast<double>(largest));
  refuse(value, place,
         beyond ? fmt::format("a whole number from {} to {}", -largest - 1, largest) : "a whole number");
}

// Refuses duplicate members, of which the parser would silently keep one, and excessive nesting.
class Strictness {
 public:
  explicit Strictness(std::string file) : file_(std::move(file)) {}

  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    if (depth > max_json_depth) {
      throw InputError({file_, ""}, fmt::format("is nested more than {} deep", max_json_depth));
    }
    if (event == Json::parse_event_t::object_start) {
      keys_.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys_.pop_back();
    } else if (event == Json::parse_event_t::key && !keys_.back().insert(parsed.get<std::string>()).second) {
      throw InputError({file_, ""}, fmt::format("the key {} is given twice in one object", parsed.dump()));
    }
    return true;
  }

 private:
  std::string file_;
  std::vector<std::set<std::string>> keys_;
};

// nlohmann's parser skips the byte order mark of UTF-8, and reports that of UTF-16 only as an unexpected
// character.
void refuse_other_encodings(std::string_view text, const std::string& file) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    throw InputError({file, ""}, "begins with the byte order mark of UTF-16; save it as UTF-8");
  }
}

// Throws InputError for the first member of `object` that has the old name of a known one.
void refuse_old_names(const Json& object, const Place& place, const std::vector<std::string>& known) {
  for (const auto& [key, unused] : object.items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    if (const auto name = renamed_names().current_name(key, known)) {
      throw InputError(place / key, fmt::format("is now called \"{}\"", *name));
    }
  }
}

}  // namespace

void read_value(const Json& value, const Place& place, const Rule& rule, double& out) {
  if (rule.quantity) {
    if (!value.is_string())
      refuse(value, place,
             fmt::format("a string with a unit, such as \"{}\"", format_quantity(*rule.quantity, 1)));
    try {
      out = parse_quantity(*rule.quantity, value.get<std::string>());
    } catch (const Error& error) {
      throw InputError(place, error.what());
    }
  } else {
    if (!value.is_number()) refuse(value, place, "a number");
    out = value.get<double>();
  }
  check_bounds(value, place, rule, static_cast<long double>(out), false);
}

void read_value(const Json& value, const Place& place, const Rule& rule, std::int64_t& out) {
  if (rule.quantity) {
    double number = 0;
    read_value(value, place, rule, number);
    constexpr double beyond = 0x1p63;  // the first number that does not fit
    if (number != std::floor(number) || std::abs(number) >= beyond) {
      refuse(value, place, fmt::format("a whole number of {}", base_unit(*rule.quantity)));
    }
    out = static_cast<std::int64_t>(number);
    return;
  }
  out = whole_number(value, place);
  check_bounds(value, place, rule, static_cast<long double>(out), true);
}

void read_value(const Json& value, const Place& place, const Rule& rule, int& out) {
  std::int64_t wide = 0;
  read_value(value, place, rule, wide);
  if (!std::in_range<int>(wide)) {
    refuse(value, place,
           fmt::format("a whole number from {} to {}", std::numeric_limits<int>::min(),
                       std::numeric_limits<int>::max()));
  }
  out = static_cast<int>(wide);
}

void read_value(const Json& value, const Place& place, const Rule& /*rule*/, bool& out) {
  if (!value.is_boolean()) refuse(value, place, "true or false");
  out = value.get<bool>();
}

void read_value(const Json& value, const Place& place, const Rule& rule, std::string& out) {
  if (!value.is_string()) refuse(value, place, "a string");
  out = value.get<std::string>();
  if (!rule.one_of.empty() && std::ranges::find(rule.one_of, out) == rule.one_of.end()) {
    if (const auto name = renamed_names().current_value(out, rule.one_of)) {
      throw InputError(place, fmt::format("\"{}\" is now called \"{}\"", out, *name));
    }
    throw InputError(place, fmt::format("unknown name \"{}\"{}", out, suggestion(out, rule.one_of)));
  }
}

void read_value(const Json& value, const Place& place, const Rule& /*rule*/, Json& out) {
  if (!value.is_object()) refuse(value, place, "an object");
  out = value;
}

JsonObject::JsonObject(const Json& value, Place place) : value_(value), place_(std::move(place)) {
  if (!value.is_object()) refuse(value, place_, "an object");
}

const Json* JsonObject::find(std::string_view key) {
  known_.emplace_back(key);
  const auto member = value_.find(key);
  return member == value_.end() ? nullptr : &*member;
}

const Json& JsonObject::get(std::string_view key) {
  const Json* member = find(key);
  if (member == nullptr) {
    refuse_old_names(value_, place_, known_);
    throw InputError(place_, fmt::format("\"{}\" is missing{}", key, misspelling_of(key)));
  }
  return *member;
}

std::string JsonObject::misspelling_of(std::string_view key) const {
  std::vector<std::string> unread;
  for (const auto& [name, unused] : value_.items()) {
    if (std::ranges::find(known_, name) == known_.end()) unread.push_back(name);
  }
  const auto match = nearest(key, unread);
  return match ? fmt::format("; did you misspell it \"{}\"?", *match) : "";
}

void JsonObject::finish() const {
  refuse_old_names(value_, place_, known_);
  for (const auto& [key, unused] : value_.items()) {
    if (key == "$schema" || key.starts_with("//")) continue;
    if (std::ranges::find(known_, key) == known_.end()) {
      throw InputError(place_of(key), fmt::format("unknown key \"{}\"{}", key, suggestion(key, known_)));
    }
  }
}

namespace {

// Returns nlohmann's explanation of a syntax error without its own number and place.
std::string_view explanation_of(const Json::parse_error& error) {
  std::string_view what = error.what();
  if (const auto place = what.find("parse error at"); place != std::string_view::npos) {
    if (const auto end = what.find(": ", place); end != std::string_view::npos) what.remove_prefix(end + 2);
  }
  return what.substr(0, max_explanation_bytes);
}

// `read`: the text up to the character that was not expected.
std::string_view remedy_of(std::string_view read) {
  if (!read.ends_with('}') && !read.ends_with(']')) return "";
  read.remove_suffix(1);
  const auto last = read.find_last_not_of(" \t\r\n");
  return last != std::string_view::npos && read[last] == ',' ? "; remove the comma before it" : "";
}

}  // namespace

Json parse_json(std::string_view text, const std::string& file) {
  refuse_other_encodings(text, file);
  try {
    return Json::parse(text, Strictness(file));
  } catch (const Json::parse_error& error) {
    const std::string_view before = text.substr(0, std::min(error.byte, text.size()));
    const auto line = std::ranges::count(before, '\n') + 1;
    const auto column =
        before.size() - (before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1);
    throw InputError({file, ""}, fmt::format("not valid JSON at line {}, column {}: {}{}", line, column,
                                             explanation_of(error), remedy_of(before)));
  } catch (const Json::out_of_range& error) {
    throw InputError({file, ""},
                     fmt::format("has a number that is out of range: {}",
                                 std::string_view(error.what()).substr(0, max_explanation_bytes)));
  }
}

std::string read_input_file(const std::string& path) {
  try {
    return read_file(path);
  } catch (const SystemError& error) {
    const bool is_missing = error.code() == std::errc::no_such_file_or_directory;
    throw InputError({path, ""}, is_missing ? "does not exist" : error.what());
  } catch (const std::exception& error) {
    throw InputError({path, ""}, error.what());
  }
}

Json parse_json_file(const std::string& path) {
  return parse_json(read_input_file(path), path);
}

}  // namespace thinpipe
