// SPDX-License-Identifier: Apache-2.0
#include "netem/topology/node_names.hh"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>

#include "netem/topology/topology.hh"

namespace thinpipe::netem {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

void check_name(const std::string& name, const Place& place) {
  const auto fits = [](char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '_'; };
  if (name.empty() || name.size() > max_node_name_bytes || !is_letter(name[0]) ||
      !std::ranges::all_of(name, fits)) {
    throw InputError(place, fmt::format("\"{}\" is not a valid device name: use 1 to {} letters, digits, "
                                        "\"-\" or \"_\", the first a letter",
                                        name, max_node_name_bytes));
  }
}

// "w12" split into "w" and 12; the number in "w012" has three digits.
struct Numbered {
  std::string stem;
  std::size_t number = 0;
  std::size_t digits = 0;
  bool padded = false;  // with zeros
};

Numbered numbered(const std::string& name, const std::string& range, const Place& place) {
  // Only the last digits are the number: in "rack2-w0" the 2 belongs to the stem.
  const auto digits = std::find_if_not(name.rbegin(), name.rend(), is_digit).base();
  Numbered out{.stem = std::string(name.begin(), digits),
               .digits = static_cast<std::size_t>(name.end() - digits)};
  out.padded = out.digits > 1 && *digits == '0';
  const char* const end = name.data() + name.size();
  const auto [read_to, status] = std::from_chars(name.data() + out.stem.size(), end, out.number);
  if (out.stem.empty() || status != std::errc() || read_to != end || out.number > max_hosts) {
    throw InputError(place, fmt::format("\"{}\" is not a range; write one like \"w0..w3\"", range));
  }
  return out;
}

}  // namespace

NodeNames::NodeNames(const Json* value, const Place& place) {
  if (value == nullptr) return;
  if (value->is_object()) {
    add_group(*value, place);
    return;
  }
  if (!value->is_array()) {
    throw InputError(place, fmt::format("must be a list of names, or a group such as {{\"w\": 8}}, but is {}",
                                        value->dump()));
  }
  for (std::size_t i = 0; i < value->size(); ++i) {
    const Json& entry = (*value)[i];
    if (entry.is_object()) {
      add_group(entry, place / i);
    } else {
      std::string name;
      read_value(entry, place / i, {}, name);
      check_name(name, place / i);
      nodes_.push_back({name, place / i});
    }
  }
}

void NodeNames::add_group(const Json& value, const Place& place) {
  // The order of nodes is the order of ranks, and the members of an object are unordered.
  if (value.size() != 1) {
    throw InputError(place, fmt::format("an object must name one group, such as {{\"w\": 8}}, but this "
                                        "names {}; write a list of groups: [{{\"a\": 2}}, {{\"b\": 2}}]",
                                        value.size()));
  }
  const std::string& group = value.begin().key();
  std::int64_t count = 0;
  read_value(value.begin().value(), place / group, {.at_least = 1, .at_most = static_cast<double>(max_hosts)},
             count);
  check_name(fmt::format("{}{}", group, count - 1), place / group);
  std::vector<std::string>& members = groups_[group];
  for (std::int64_t i = 0; i < count; ++i) {
    members.push_back(fmt::format("{}{}", group, i));
    nodes_.push_back({members.back(), place / group});
  }
}

std::vector<std::string> NodeNames::names() const {
  std::vector<std::string> out;
  for (const PlacedName& node : nodes_) out.push_back(node.name);
  return out;
}

std::vector<PlacedName> read_end(const std::string& text, const Place& place,
                                 const std::map<std::string, std::vector<std::string>>& groups) {
  std::vector<PlacedName> out;
  if (const auto group = groups.find(text); group != groups.end()) {
    for (const std::string& member : group->second) out.push_back({member, place});
    return out;
  }
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return {{text, place}};
  const Numbered first = numbered(text.substr(0, dots), text, place);
  const Numbered last = numbered(text.substr(dots + 2), text, place);
  if (first.stem != last.stem || first.number > last.number) {
    throw InputError(place, fmt::format("\"{}\" is not a range: the two names must differ only in their "
                                        "numbers, the smaller first, as in \"w0..w3\"",
                                        text));
  }
  if ((first.padded || last.padded) && first.digits != last.digits) {
    throw InputError(place, fmt::format("\"{}\" is not a range: with leading zeros, both numbers must have "
                                        "the same number of digits, as in \"w00..w15\"",
                                        text));
  }
  const std::size_t digits = first.padded ? first.digits : 1;
  for (std::size_t i = first.number; i <= last.number; ++i) {
    out.push_back({fmt::format("{}{:0{}}", first.stem, i, digits), place});
  }
  return out;
}

}  // namespace thinpipe::netem
