#include "harness/experiment.hh"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "harness/merge.hh"
#include "harness/support/file_descriptor.hh"

namespace thinpipe {
namespace {

using OrderedJson = nlohmann::ordered_json;

void check_name(const std::string& name, const Place& place) {
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  };
  if (name.empty() || name.starts_with('.') || !std::ranges::all_of(name, allowed)) {
    throw InputError(place,
                     fmt::format("must be made of letters, digits, \"-\", \"_\" and \".\", as it names a "
                                 "folder, but is \"{}\"",
                                 name));
  }
}

std::vector<std::string> path_keys(std::string_view dotted, const Place& place) {
  const auto keys = split_path(dotted);
  if (!keys) {
    throw InputError(place, fmt::format("\"{}\" is not a path; write keys joined by dots, as "
                                        "\"bottleneck.rate\"",
                                        dotted));
  }
  return *keys;
}

Axis labelled_axis(const std::string& name, const OrderedJson& values, const Place& place) {
  Axis axis{name, {}};
  for (const auto& [label, patch] : values.items()) {
    if (label.starts_with("//")) continue;
    if (!patch.is_object()) {
      throw InputError(place / label,
                       fmt::format("must be an object that patches the base, but is {}", patch.dump()));
    }
    axis.values.push_back({label, {Json(patch), place / label}});
  }
  return axis;
}

Axis listed_axis(const std::string& path, const OrderedJson& values, const Place& place) {
  Axis axis{path, {}};
  const std::vector<std::string> keys = path_keys(path, place);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Json value(values[i]);
    const std::string label = value.is_string() ? value.get<std::string>() : value.dump();
    if (std::ranges::find(axis.values, label, &Axis::Value::label) != axis.values.end()) {
      throw InputError(place / i, fmt::format("the value {} is listed twice", label));
    }
    axis.values.push_back({label, {nested(keys, value), place / i, keys}});
  }
  return axis;
}

Axis parse_axis(const std::string& name, const OrderedJson& values, const Place& place) {
  if (!values.is_object() && !values.is_array()) {
    throw InputError(place,
                     "must be an object (label: patch) or a list (values of the path that names the "
                     "axis), but is " +
                         values.dump());
  }
  Axis axis = values.is_object() ? labelled_axis(name, values, place) : listed_axis(name, values, place);
  if (axis.values.empty()) throw InputError(place, "is empty; give it values or remove the axis");
  return axis;
}

Layer parse_override(const std::string& assignment) {
  const Place place{"--set " + assignment, ""};
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos) throw InputError(place, "must be written path=value");
  const std::vector<std::string> keys = path_keys(assignment.substr(0, equals), place);
  const std::string text = assignment.substr(equals + 1);
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) value = text;
  return {nested(keys, value), place, keys};
}

const Json* find(const Json& value, const std::vector<std::string>& keys) {
  const Json* found = &value;
  for (const std::string& key : keys) {
    if (!found->is_object() || !found->contains(key)) return nullptr;
    found = &(*found)[key];
  }
  return found;
}

// An override that every point's sweep replaces would silently do nothing.
void check_effect(const Layer& layer, const std::vector<Axis>& axes) {
  for (const Axis& axis : axes) {
    const auto replaces = [&layer](const Axis::Value& value) {
      return find(value.layer.patch, layer.keys) != nullptr;
    };
    if (std::ranges::all_of(axis.values, replaces)) {
      throw InputError(layer.place,
                       fmt::format("has no effect, as the sweep's axis \"{}\" sets it in every run; "
                                   "choose runs with --only, or edit the axis",
                                   axis.name));
    }
  }
}

}  // namespace

std::string Point::label() const {
  std::string out;
  for (const auto& [axis, value] : labels) out += (out.empty() ? "" : ", ") + value;
  return labels.empty() ? "base" : out;
}

Place Point::place_of(std::string_view pointer) const {
  const std::vector<std::string> keys = pointer_keys(pointer);
  const Layer* best = &layers.front();
  std::size_t best_depth = 0;
  for (const Layer& layer : layers) {
    const Json* value = &layer.patch;
    std::size_t depth = 0;
    while (depth < keys.size() && value->is_object() && value->contains(keys[depth])) {
      value = &(*value)[keys[depth++]];
    }
    // Inside a list the base file and the merged configuration have the same indices.
    if (depth < keys.size() && value->is_array()) depth = keys.size();
    if (depth >= best_depth && (depth > 0 || &layer == &layers.front())) {
      best = &layer;
      best_depth = depth;
    }
  }
  Place place = best->place;
  for (std::size_t i = best->keys.size(); i < keys.size(); ++i) place = place / keys[i];
  return place;
}

Experiment parse_experiment(std::string_view text, const std::string& file,
                            const std::vector<std::string>& overrides) {
  const Json document = parse_json(text, file);
  // Axes and labels keep the order in which they were written; everything else is read from `document`.
  const OrderedJson ordered = OrderedJson::parse(text);
  JsonObject object(document, {file, ""});
  Experiment experiment;
  experiment.file = file;
  experiment.name = std::filesystem::path(file).stem();
  object.read("name", experiment.name);
  check_name(experiment.name, object.place_of("name"));
  object.read("description", experiment.description);
  experiment.base = {object.get("base"), object.place_of("base")};
  const JsonObject base_is_an_object(experiment.base.patch, experiment.base.place);
  if (const Json* sweep = object.find("sweep")) {
    const JsonObject sweep_is_an_object(*sweep, object.place_of("sweep"));
    for (const auto& [name, values] : ordered["sweep"].items()) {
      if (name.starts_with("//")) continue;
      experiment.axes.push_back(parse_axis(name, values, object.place_of("sweep") / name));
    }
  }
  object.finish();
  for (const std::string& assignment : overrides) {
    experiment.overrides.push_back(parse_override(assignment));
    check_effect(experiment.overrides.back(), experiment.axes);
  }
  return experiment;
}

Experiment load_experiment(const std::string& file, const std::vector<std::string>& overrides) {
  std::string text;
  try {
    text = read_file(file);
  } catch (const SystemError& error) {
    throw InputError({file, ""}, error.what());
  }
  return parse_experiment(text, file, overrides);
}

std::vector<Point> expand(const Experiment& experiment) {
  double count = 1;
  for (const Axis& axis : experiment.axes) count *= static_cast<double>(axis.values.size());
  if (count > static_cast<double>(largest_sweep)) {
    throw InputError({experiment.file, "/sweep"},
                     fmt::format("makes {:.0f} runs, more than the {} that are allowed; shorten the axes",
                                 count, largest_sweep));
  }
  Point first{{}, experiment.base.patch, {experiment.base}};
  for (const Layer& layer : experiment.overrides) {
    merge(first.config, layer.patch);
    first.layers.push_back(layer);
  }
  std::vector<Point> points = {std::move(first)};
  for (const Axis& axis : experiment.axes) {
    std::vector<Point> next;
    for (const Point& point : points) {
      for (const Axis::Value& value : axis.values) {
        next.push_back(point);
        next.back().labels.emplace_back(axis.name, value.label);
        next.back().layers.push_back(value.layer);
        merge(next.back().config, value.layer.patch);
      }
    }
    points = std::move(next);
  }
  return points;
}

}  // namespace thinpipe
