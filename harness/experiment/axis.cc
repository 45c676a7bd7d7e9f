// SPDX-License-Identifier: Apache-2.0
#include "harness/experiment/axis.hh"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "harness/experiment/merge.hh"
#include "harness/experiment/range_axis.hh"

namespace thinpipe {
namespace {

// Refuses values that the axis already has.
class DistinctValues {
 public:
  explicit DistinctValues(Axis& axis) : axis_(axis) {}

  void add(Axis::Value value, const Place& place) {
    if (!labels_.insert(value.label).second)
      throw InputError(place, fmt::format("the value {} is listed twice; remove one", value.label));
    axis_.values.push_back(std::move(value));
  }

 private:
  Axis& axis_;
  std::set<std::string> labels_;
};

Axis labelled_axis(const std::string& name, const OrderedJson& values, const Place& place) {
  Axis axis{name, {}};
  for (const auto& [label, patch] : values.items()) {
    if (label.starts_with("//")) continue;
    if (!patch.is_object()) {
      throw InputError(place / label,
                       fmt::format("must be an object that patches the base, but is {}", patch.dump()));
    }
    axis.values.push_back({label, {{Json(patch), place / label}}});
  }
  return axis;
}

Axis listed_axis(const std::string& path, const OrderedJson& values, const Place& place) {
  Axis axis{path, {}};
  DistinctValues distinct(axis);
  const std::vector<std::string> keys = path_keys(path, place);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Json value(values[i]);
    distinct.add({value_label(value), {{nested(keys, value), place / i, keys}}}, place / i);
  }
  return axis;
}

std::vector<std::string> split_at_commas(const std::string& name) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find(',', begin), name.size());
    const std::size_t first = std::min(name.find_first_not_of(' ', begin), end);
    std::string part = name.substr(first, end - first);
    part.resize(part.find_last_not_of(' ') + 1);  // npos + 1 is 0
    parts.push_back(std::move(part));
    begin = end + 1;
  }
  return parts;
}

Axis zipped_axis(const std::string& name, const OrderedJson& values, const Place& place) {
  Axis axis{name, {}};
  DistinctValues distinct(axis);
  std::vector<std::vector<std::string>> paths;
  for (const std::string& path : split_at_commas(name)) {
    paths.push_back(path_keys(path, place));
    if (std::count(paths.begin(), paths.end(), paths.back()) > 1) {
      throw InputError(place, fmt::format("names the path \"{}\" twice; remove one", path));
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Place tuple_place = place / i;
    if (!values[i].is_array() || values[i].size() != paths.size()) {
      throw InputError(tuple_place,
                       fmt::format("must be a list of {} values, one for each path of \"{}\", but is {}",
                                   paths.size(), name, values[i].dump()));
    }
    Axis::Value value;
    for (std::size_t p = 0; p < paths.size(); ++p) {
      const Json one(values[i][p]);
      value.label += fmt::format("{}{}", p == 0 ? "" : " ", value_label(one));
      value.layers.push_back({nested(paths[p], one), tuple_place / p, paths[p]});
    }
    distinct.add(std::move(value), tuple_place);
  }
  return axis;
}

}  // namespace

std::string value_label(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::vector<std::string> path_keys(std::string_view dotted, const Place& place) {
  const auto keys = split_path(dotted);
  if (!keys) {
    throw InputError(
        place,
        fmt::format("\"{}\" is not a path; write keys joined by dots, such as \"bottleneck.rate\"", dotted));
  }
  if (std::ssize(*keys) > max_json_depth) {
    throw InputError(place, fmt::format("is a path of {} keys, but values are at most {} deep", keys->size(),
                                        max_json_depth));
  }
  return *keys;
}

Axis parse_axis(const std::string& name, const OrderedJson& values, const Place& place) {
  if (!values.is_object() && !values.is_array()) {
    throw InputError(place,
                     "must be an object (label: patch, or a range: \"from\", \"to\" and \"step\" or "
                     "\"factor\") or a list (values of the path that names the axis), but is " +
                         values.dump());
  }
  Axis axis = is_range(values)                      ? range_axis(name, Json(values), place)
              : values.is_object()                  ? labelled_axis(name, values, place)
              : name.find(',') != std::string::npos ? zipped_axis(name, values, place)
                                                    : listed_axis(name, values, place);
  if (axis.values.empty()) throw InputError(place, "is empty; give it values or remove the axis");
  return axis;
}

Axis repetitions(std::size_t count, std::int64_t first_seed, const Place& place) {
  Axis axis{"seed", {}};
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t seed = first_seed + static_cast<std::int64_t>(i);
    axis.values.push_back({fmt::format("seed {}", seed), {{{{"seed", seed}}, place, {"seed"}}}});
  }
  return axis;
}

}  // namespace thinpipe
