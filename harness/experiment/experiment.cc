// SPDX-License-Identifier: Apache-2.0
#include "harness/experiment/experiment.hh"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "common/support/nearest.hh"
#include "harness/experiment/merge.hh"

namespace thinpipe {
namespace {

void check_name(const std::string& name, const Place& place) {
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  };
  if (name.empty() || name.starts_with('.') || !std::ranges::all_of(name, allowed)) {
    throw InputError(
        place, fmt::format("must be a folder name of letters, digits, \"-\", \"_\" and \".\" that does not "
                           "begin with \".\", but is \"{}\"",
                           name));
  }
}

const Json* find(const Json& value, const std::vector<std::string>& keys) {
  const Json* found = &value;
  for (const std::string& key : keys) {
    if (!found->is_object() || !found->contains(key)) return nullptr;
    found = &(*found)[key];
  }
  return found;
}

// Refuses an override that the sweep replaces in every run: it would silently have no effect. An axis replaces an object's
// members, too, when it gives the object another name. config: the base with the earlier overrides.
void check_effect(Json config, const Layer& layer, const std::vector<Axis>& axes) {
  const Json mark = "\n";  // no value of an axis
  merge(config, nested(layer.keys, mark));
  for (const Axis& axis : axes) {
    const auto replaces = [&](const Axis::Value& value) {
      Json merged = config;
      for (const Layer& replacement : value.layers) merge(merged, replacement.patch);
      const Json* const left = find(merged, layer.keys);
      return left == nullptr || *left != mark;
    };
    if (std::ranges::all_of(axis.values, replaces)) {
      throw InputError(layer.place,
                       fmt::format("has no effect, because the sweep's axis \"{}\" sets it in every run; "
                                   "choose runs with --only, or edit the axis",
                                   axis.name));
    }
  }
}

const Axis& find_axis(const std::vector<Axis>& axes, const std::string& name, const Place& place) {
  const auto found = std::ranges::find(axes, name, &Axis::name);
  if (found != axes.end()) return *found;
  std::vector<std::string> names;
  names.reserve(axes.size());
  for (const Axis& axis : axes) names.push_back(axis.name);
  throw InputError(place / name,
                   fmt::format("the sweep has no axis \"{}\"{}", name, suggestion(name, names)));
}

Exclusion parse_exclusion(const Json& value, const Place& place, const std::vector<Axis>& axes) {
  const JsonObject is_an_object(value, place);
  Exclusion exclusion;
  for (const auto& [name, meant] : value.items()) {
    if (name.starts_with("//")) continue;
    const Axis& axis = find_axis(axes, name, place);
    std::vector<std::string> known;
    for (const Axis::Value& one : axis.values) known.push_back(one.label);
    std::vector<std::string> labels;
    for (const Json& one : meant.is_array() ? meant : Json::array({meant})) {
      labels.push_back(one.is_string() ? one.get<std::string>() : one.dump());
      if (std::ranges::find(known, labels.back()) == known.end()) {
        throw InputError(place / name, fmt::format("the axis \"{}\" has no value {}{}", name, labels.back(),
                                                   suggestion(labels.back(), known)));
      }
    }
    exclusion.emplace_back(name, std::move(labels));
  }
  if (exclusion.empty()) throw InputError(place, "is empty; name at least one axis and its values");
  return exclusion;
}

bool is_excluded(const Point& point, const Exclusion& exclusion) {
  return std::ranges::all_of(exclusion, [&point](const auto& part) {
    return std::ranges::any_of(point.labels, [&part](const auto& label) {
      return label.first == part.first && std::ranges::find(part.second, label.second) != part.second.end();
    });
  });
}

// Returns the axis of "repeat". Its first seed is the base's, after --set.
Axis read_repetitions(std::int64_t count, const Experiment& experiment, const Place& place) {
  for (const Axis& axis : experiment.axes) {
    for (const Axis::Value& value : axis.values) {
      if (std::ranges::any_of(value.layers,
                              [](const Layer& layer) { return layer.patch.contains("seed"); })) {
        throw InputError(
            place, fmt::format("sets the seed, and so does the axis \"{}\"; remove one of them", axis.name));
      }
    }
  }
  Json base = experiment.base.patch;
  for (const Layer& layer : experiment.overrides) merge(base, layer.patch);
  std::int64_t first = 1;
  JsonObject(base, experiment.base.place)
      .read("seed", first, {.at_least = 0, .at_most = 0x1p62});  // so that the last seed does not overflow
  return repetitions(static_cast<std::size_t>(count), first, place);
}

}  // namespace

std::string label_of(const Labels& labels) {
  std::string out;
  for (const auto& [axis, value] : labels) out += (out.empty() ? "" : ", ") + value;
  return labels.empty() ? "base" : out;
}

Json Point::config() const {
  Json config = layers.front()->patch;
  for (std::size_t i = 1; i < layers.size(); ++i) merge(config, layers[i]->patch);
  return config;
}

Place Point::place_of(std::string_view pointer) const {
  const std::vector<std::string> keys = pointer_keys(pointer);
  const Layer* best = layers.front().get();
  std::size_t best_depth = 0;
  for (const auto& layer : layers) {
    const Json* value = &layer->patch;
    std::size_t depth = 0;
    while (depth < keys.size() && value->is_object() && value->contains(keys[depth])) {
      value = &(*value)[keys[depth++]];
    }
    // Inside a list the base file and the merged configuration have the same indices.
    if (depth < keys.size() && value->is_array()) depth = keys.size();
    if (depth >= best_depth && (depth > 0 || layer == layers.front())) {
      best = layer.get();
      best_depth = depth;
    }
  }
  Place place = best->place;
  for (std::size_t i = best->keys.size(); i < keys.size(); ++i) place = place / keys[i];
  return place;
}

Experiment parse_experiment(std::string_view text, const std::string& file,
                            const std::vector<std::string>& overrides, const IsText& is_text,
                            std::optional<std::int64_t> repeat) {
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
  const Json& base = object.get("base");
  experiment.base = {Json::object(), object.place_of("base")};
  const JsonObject base_is_an_object(base, experiment.base.place);
  merge(experiment.base.patch, base);  // without comments and nulls
  if (const Json* sweep = object.find("sweep")) {
    const JsonObject sweep_is_an_object(*sweep, object.place_of("sweep"));
    for (const auto& [name, values] : ordered["sweep"].items()) {
      if (name.starts_with("//")) continue;
      experiment.axes.push_back(parse_axis(name, values, object.place_of("sweep") / name));
    }
  }
  std::int64_t repetitions = 1;
  object.read("repeat", repetitions, {.at_least = 1, .at_most = max_sweep_runs});
  Place repeat_place = object.place_of("repeat");
  if (repeat) {
    repetitions = *repeat;
    repeat_place = {fmt::format("--repeat {}", *repeat), ""};
  }
  const Json* const exclude = object.find("exclude");
  if (const Json* const executor = object.find("executor"))
    experiment.executor = read_options<ExecutorOptions>(*executor, object.place_of("executor"));
  object.finish();
  Json overridden = experiment.base.patch;
  for (const std::string& assignment : overrides) {
    const Layer& layer = experiment.overrides.emplace_back(parse_override(assignment, is_text));
    check_effect(overridden, layer, experiment.axes);
    merge(overridden, layer.patch);
  }
  if (repetitions > 1) {
    experiment.axes.push_back(read_repetitions(repetitions, experiment, repeat_place));
  }
  if (exclude != nullptr) {
    const Place place = object.place_of("exclude");
    if (!exclude->is_array()) throw InputError(place, "must be a list of objects, but is " + exclude->dump());
    for (std::size_t i = 0; i < exclude->size(); ++i) {
      experiment.exclusions.push_back(parse_exclusion((*exclude)[i], place / i, experiment.axes));
    }
  }
  return experiment;
}

Experiment load_experiment(const std::string& file, const std::vector<std::string>& overrides,
                           const IsText& is_text, std::optional<std::int64_t> repeat) {
  return parse_experiment(read_input_file(file), file, overrides, is_text, repeat);
}

std::vector<Point> expand(const Experiment& experiment) {
  double count = 1;
  for (const Axis& axis : experiment.axes) count *= static_cast<double>(axis.values.size());
  if (count > static_cast<double>(max_sweep_runs)) {
    throw InputError(
        {experiment.file, "/sweep"},
        fmt::format("has {:.0f} runs, more than the limit of {}; shorten the axes", count, max_sweep_runs));
  }
  Point first{{}, {std::make_shared<const Layer>(experiment.base)}};
  for (const Layer& layer : experiment.overrides) {
    first.layers.push_back(std::make_shared<const Layer>(layer));
  }
  std::vector<Point> points = {std::move(first)};
  for (const Axis& axis : experiment.axes) {
    std::vector<std::vector<std::shared_ptr<const Layer>>> layers;
    for (const Axis::Value& value : axis.values) {
      layers.emplace_back();
      for (const Layer& layer : value.layers) layers.back().push_back(std::make_shared<const Layer>(layer));
    }
    std::vector<Point> next;
    next.reserve(points.size() * axis.values.size());
    for (const Point& point : points) {
      for (std::size_t i = 0; i < axis.values.size(); ++i) {
        next.push_back(point);
        next.back().labels.emplace_back(axis.name, axis.values[i].label);
        for (const auto& layer : layers[i]) next.back().layers.push_back(layer);
      }
    }
    points = std::move(next);
  }
  std::erase_if(points, [&experiment](const Point& point) {
    return std::ranges::any_of(experiment.exclusions, [&point](const Exclusion& exclusion) {
      return is_excluded(point, exclusion);
    });
  });
  if (points.empty())
    throw InputError({experiment.file, "/exclude"}, "leaves out every run of the sweep; remove an entry");
  return points;
}

}  // namespace thinpipe
