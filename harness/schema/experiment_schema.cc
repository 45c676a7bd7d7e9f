// SPDX-License-Identifier: Apache-2.0
#include "harness/schema/experiment_schema.hh"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/experiment/axis.hh"
#include "harness/experiment/executor_options.hh"
#include "harness/experiment/merge.hh"
#include "harness/plan/controller_options.hh"

namespace thinpipe {
namespace {

constexpr std::pair<Quantity, const char*> quantities[] = {
    {Quantity::rate, "rates"}, {Quantity::duration, "durations"}, {Quantity::size, "sizes"}};

// Returns the keys of a configuration: the harness's, and the trainer's that the harness does not read.
Json configuration_fields(const Json& trainer) {
  Json fields = describe_controller_options();
  const std::vector<std::string> own = controller_option_keys();
  for (const Json& field : trainer.at("configuration")) {
    if (std::ranges::find(own, field.at("key").get<std::string>()) == own.end()) fields.push_back(field);
  }
  return fields;
}

// Axes that vary one value, by its path, for each field and the fields inside it. `pointer` leads to the
// schemas of the fields' values.
class PathAxes {
 public:
  PathAxes(const Json& trainer, const OrderedJson& definitions)
      : trainer_(trainer), definitions_(definitions) {}

  OrderedJson axes = OrderedJson::object();
  std::vector<std::string> free_objects;  // the paths of objects whose members are the user's own

  void add(const Json& fields, const std::string& prefix, const std::string& pointer) {
    for (const Json& field : fields) {
      const std::string key = field.at("key");
      const std::string path = prefix + key;
      const std::string value = fmt::format("{}/properties/{}", pointer, key);
      add_axis(field, path, value);
      if (field.value("list", false)) continue;
      if (field.value("type", "") == "object") free_objects.push_back(path);
      if (field.contains("options")) add(field["options"], path + ".", value);
      const Json forms = field.value("any_of", Json::array());
      for (std::size_t i = 0; i < forms.size(); ++i) {
        if (forms[i].contains("options"))
          add(forms[i]["options"], path + ".", fmt::format("{}/anyOf/{}", value, i));
        if (forms[i].value("type", "") == "object") free_objects.push_back(path);
      }
      if (field.contains("registry")) add_registry(field, path + ".");
    }
  }

 private:
  void add_registry(const Json& field, const std::string& prefix) {
    const std::string registry = field["registry"];
    const std::string selector = field["selector"];
    const std::string unnamed = unnamed_definition(registry);
    for (const auto& [key, unused] : definitions_[unnamed]["properties"].items()) {
      Json option = {{"key", key}, {"effect", field["effect"]}};
      for (const auto& [name, entry] : trainer_.at(registry).items()) {
        for (const Json& candidate : entry.at("options")) {
          if (candidate["key"] == key) option = candidate;
        }
      }
      add_axis(option, prefix + key,
               fmt::format("{}/properties/{}", key == selector ? registry : unnamed, key));
    }
  }

  void add_axis(const Json& field, const std::string& path, const std::string& value) {
    axes[path] = {{"description", field["effect"]},
                  {"if", {{"type", "array"}}},
                  {"then", {{"minItems", 1}, {"items", definition_reference(value)}}},
                  {"else", definition_reference(labels_of(field))}};
  }

  // Returns the definition of an axis of a path that is not a list: labels, or for numbers and quantities
  // also a range.
  static std::string labels_of(const Json& field) {
    if (field.value("list", false)) return "labels";
    const std::string type = field.value("type", "");
    if (type == "number" || type == "integer") return "labels_or_range";
    for (const auto& [quantity, name] : quantities) {
      if (field.value("unit", "") == base_unit(quantity)) return fmt::format("labels_or_range_of_{}", name);
    }
    return "labels";
  }

  const Json& trainer_;
  const OrderedJson& definitions_;
};

// Returns the schema of a range of numbers, or of a quantity.
OrderedJson range_schema(std::optional<Quantity> quantity) {
  OrderedJson out = OrderedJson::parse(R"({
    "type": "object",
    "description": "A range of values, both ends included.",
    "required": ["from", "to"],
    "properties": {
      "from": {},
      "to": {"description": "at least \"from\""},
      "step": {"description": "difference of neighbouring values; must lead from \"from\" to \"to\""},
      "factor": {"type": "number", "exclusiveMinimum": 1, "description": "ratio of neighbouring values, instead of a step; must lead from \"from\" to \"to\""}
    },
    "oneOf": [{"required": ["step"]}, {"required": ["factor"]}],
    "additionalProperties": false
  })");
  for (const char* key : {"from", "to", "step"}) {
    const bool is_step = key == std::string_view("step");
    OrderedJson& value = out["properties"][key];
    if (quantity) {
      value["type"] = "string";
      value["pattern"] = quantity_pattern(*quantity, is_step ? Range::positive : Range::any);
    } else {
      value["type"] = "number";
      if (is_step) value["exclusiveMinimum"] = 0;
    }
  }
  out["patternProperties"] = comments();
  return out;
}

OrderedJson labels_schema() {
  return OrderedJson::parse(R"({
    "type": "object",
    "description": "Labels, each with a patch of the base: objects are merged, null restores the default, an object with another name replaces the base's.",
    "minProperties": 1,
    "patternProperties": {"^//": {}},
    "additionalProperties": {"$ref": "#/definitions/configuration"}
  })");
}

OrderedJson labels_or_range_schema(const std::string& range) {
  OrderedJson out = OrderedJson::parse(R"({
    "if": {"type": "object", "required": ["from"], "properties": {"from": {"not": {"type": "object"}}}},
    "then": {},
    "else": {"$ref": "#/definitions/labels"}
  })");
  out["then"] = definition_reference(range);
  return out;
}

// Returns the schema of an axis that varies a member of an object whose members are the user's own.
OrderedJson free_axis() {
  OrderedJson out = OrderedJson::parse(R"({
    "description": "A value of the user's own: a list of values, a range, or labels with patches.",
    "if": {"type": "array"},
    "then": {"minItems": 1},
    "else": {"anyOf": []}
  })");
  out["else"]["anyOf"].push_back(definition_reference("labels_or_range"));
  for (const auto& [quantity, name] : quantities)
    out["else"]["anyOf"].push_back(definition_reference(fmt::format("labels_or_range_of_{}", name)));
  return out;
}

OrderedJson sweep_schema(const PathAxes& paths) {
  OrderedJson out = OrderedJson::parse(R"({
    "type": "object",
    "description": "Axes. Runs are all combinations, in the order of the file; the last axis varies fastest. An axis named by a path lists its values, or has a range of numbers or quantities. An axis named by paths joined with commas lists values that vary together. An axis of any name may have labels with patches.",
    "patternProperties": {
      "^//": {},
      ",": {
        "if": {"type": "array"},
        "then": {"minItems": 1, "items": {"type": "array", "minItems": 2}},
        "else": {"$ref": "#/definitions/labels"}
      }
    },
    "additionalProperties": {"$ref": "#/definitions/labels"}
  })");
  out["properties"] = paths.axes;
  for (const std::string& path : paths.free_objects) {
    const std::string members = fmt::format(R"(^{}\.[^,]+$)", fmt::join(split_path(path).value(), R"(\.)"));
    out["patternProperties"][members] = free_axis();
  }
  return out;
}

OrderedJson document_schema() {
  OrderedJson out = OrderedJson::parse(R"({
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Thinpipe experiment",
    "description": "The configuration that runs share, and the axes along which they vary. thinpipe plan FILE checks the rules that need more than one value. Generated by thinpipe schema experiment.",
    "type": "object",
    "required": ["base"],
    "properties": {
      "name": {
        "type": "string",
        "pattern": "^[A-Za-z0-9_-][A-Za-z0-9._-]*$",
        "description": "The folder under results/. Default: the file's name."
      },
      "description": {"type": "string", "description": "Free text, without effect."},
      "base": {
        "allOf": [{"$ref": "#/definitions/configuration"}],
        "description": "The configuration of every run; missing members have their defaults."
      },
      "sweep": {"$ref": "#/definitions/sweep"},
      "exclude": {
        "type": "array",
        "description": "Combinations to leave out: by axis, a label or a list of them. All axes of an entry must match.",
        "items": {"type": "object", "minProperties": 1}
      },
      "repeat": {
        "type": "integer",
        "minimum": 1,
        "default": 1,
        "description": "Number of seeds to run each combination with, counted up from the base's."
      }
    },
    "additionalProperties": false
  })");
  out["properties"]["repeat"]["maximum"] = max_sweep_runs;
  out["patternProperties"] = comments();
  return out;
}

}  // namespace

OrderedJson experiment_schema(const Json& trainer) {
  const Json fields = configuration_fields(trainer);
  OrderedJson definitions = OrderedJson::object();
  definitions["configuration"] = {{"type", "object"}};
  definitions["configuration"].update(object_schema(fields));
  for (const Json& field : fields) {
    if (!field.contains("registry")) continue;
    const std::string registry = field["registry"];
    define_registry(definitions, registry, field["selector"], trainer.at(registry));
  }
  PathAxes paths(trainer, definitions);
  paths.add(fields, "", "configuration");
  definitions["labels"] = labels_schema();
  definitions["range"] = range_schema({});
  definitions["labels_or_range"] = labels_or_range_schema("range");
  for (const auto& [quantity, name] : quantities) {
    const std::string range = fmt::format("range_of_{}", name);
    definitions[range] = range_schema(quantity);
    definitions["labels_or_" + range] = labels_or_range_schema(range);
  }
  definitions["sweep"] = sweep_schema(paths);
  OrderedJson out = document_schema();
  OrderedJson executor = {{"type", "object"},
                          {"description", "What executes the runs; the command line's options replace it."}};
  executor.update(object_schema(describe_options<ExecutorOptions>()));
  out["properties"]["executor"] = std::move(executor);
  out["definitions"] = definitions;
  return out;
}

}  // namespace thinpipe
