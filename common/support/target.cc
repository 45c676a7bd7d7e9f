// SPDX-License-Identifier: Apache-2.0
#include "common/support/target.hh"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "common/support/options.hh"

namespace thinpipe {
namespace {

constexpr std::array<std::pair<Target::Metric, const char*>, 4> metrics = {
    {{Target::Metric::accuracy, "accuracy"},
     {Target::Metric::test_loss, "test_loss"},
     {Target::Metric::bits_per_byte, "bits_per_byte"},
     {Target::Metric::perplexity, "perplexity"}}};

Rule rule_of(Target::Metric metric) {
  return metric == Target::Metric::accuracy ? Rule{.above = 0, .at_most = 1} : Rule{.above = 0};
}

const Rule hold_rule{
    .effect =
        "number of successive evaluations at a target, or better, that count as holding it; the "
        "time to a target is that of the first of them. 1: the first evaluation at the target "
        "counts, even if accuracy falls after it",
    .at_least = 1,
    .at_most = 1000};

}  // namespace

std::string name_of(Target::Metric metric) {
  for (const auto& [known, name] : metrics) {
    if (known == metric) return name;
  }
  return {};
}

Target read_target(const Json& value, const Place& place) {
  Target target;
  if (value.is_number()) {
    read_value(value, place, rule_of(target.metric), target.value);
    return target;
  }
  if (!value.is_object() || value.size() != 1) {
    throw InputError(place,
                     "must be an accuracy, such as 0.84, or one of {\"accuracy\": 0.84}, "
                     "{\"test_loss\": 0.5}, {\"bits_per_byte\": 2.2} and {\"perplexity\": 40}, but is " +
                         value.dump());
  }
  JsonObject object(value, place);
  for (const auto& [metric, name] : metrics) {
    if (object.find(name) == nullptr) continue;
    target.metric = metric;
    object.read(name, target.value, rule_of(metric));
  }
  object.finish();
  return target;
}

std::vector<Target> read_targets(JsonObject& object) {
  std::vector<Target> targets;
  const Json* values = object.find("targets");
  if (values == nullptr) return targets;
  const Place place = object.place_of("targets");
  if (!values->is_array()) {
    throw InputError(place, fmt::format("must be a list, such as [{0}], but is {0}", values->dump()));
  }
  for (std::size_t i = 0; i < values->size(); ++i) targets.push_back(read_target((*values)[i], place / i));
  return targets;
}

Json describe_targets() {
  const auto describe = [](const char* key, Target::Metric metric) {
    OptionDescriber describer;
    Rule rule = rule_of(metric);
    rule.required = true;
    describer(key, 0.0, rule);
    return describer.out;
  };
  Json ways = Json::array({describe("", Target::Metric::accuracy).front()});
  for (const auto& [metric, name] : metrics) ways.push_back({{"options", describe(name, metric)}});
  return {{"key", "targets"},
          {"effect",
           "levels to report the train time to: accuracies, such as 0.84, {\"test_loss\": 0.5}, or for texts "
           "{\"bits_per_byte\": 2.2} or {\"perplexity\": 40}"},
          {"list", true},
          {"required", false},
          {"default", Json::array()},
          {"any_of", ways}};
}

std::int64_t read_hold(JsonObject& object) {
  std::int64_t hold = default_hold;
  object.read("hold", hold, hold_rule);
  return hold;
}

Json describe_hold() {
  OptionDescriber describer;
  describer("hold", default_hold, hold_rule);
  return describer.out.front();
}

Json to_json(const Target& target) {
  if (target.metric == Target::Metric::accuracy) return target.value;
  return {{name_of(target.metric), target.value}};
}

Json to_json(const std::vector<Target>& targets) {
  Json out = Json::array();
  for (const Target& target : targets) out.push_back(to_json(target));
  return out;
}

std::string to_string(const Target& target) {
  if (target.metric == Target::Metric::accuracy) return fmt::format("{:g}", target.value);
  return fmt::format("{} {:g}", name_of(target.metric), target.value);
}

bool is_reached(const Target& target, double measured) {
  return target.metric == Target::Metric::accuracy ? measured >= target.value : measured <= target.value;
}

}  // namespace thinpipe
