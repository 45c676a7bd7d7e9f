// SPDX-License-Identifier: Apache-2.0
// A run's target: a level of a metric, fixed before the run. The record has the train time until it was
// reached, and until it was held: reached by several successive evaluations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe {

struct Target {
  enum class Metric {
    accuracy,       // at least this fraction of the test set is classified correctly
    test_loss,      // at most this mean cross-entropy over the test set, in nats
    bits_per_byte,  // at most this mean cross-entropy over a test text, in bits
    perplexity,     // at most the exponential of the mean cross-entropy per token of a test text
  };

  Metric metric = Metric::accuracy;
  double value = 0;

  bool operator==(const Target&) const = default;
};

// "accuracy", "test_loss", "bits_per_byte", "perplexity".
std::string name_of(Target::Metric metric);

// Reads a number, which is an accuracy, or {"accuracy": 0.84}, {"test_loss": 0.5}, {"bits_per_byte": 2.2} or
// {"perplexity": 40}.
// Throws InputError.
Target read_target(const Json& value, const Place& place);

// Returns the list under "targets"; empty if absent.
std::vector<Target> read_targets(JsonObject& object);

// Describes "targets" by an entry like those of describe_options (common/support/options.hh). Its "any_of"
// has an entry for each form of an element.
Json describe_targets();

// The number of successive evaluations at a target, or better, that count as holding it.
inline constexpr std::int64_t default_hold = 3;
// Reads it under "hold"; the default if absent.
std::int64_t read_hold(JsonObject& object);
Json describe_hold();

// Writes an accuracy as a number, other targets as an object.
Json to_json(const Target& target);
Json to_json(const std::vector<Target>& targets);

// Returns "0.84" for an accuracy, otherwise a text such as "bits_per_byte 2.2".
std::string to_string(const Target& target);

// Returns whether a measured value is at least as good as the target.
bool is_reached(const Target& target, double measured);

}  // namespace thinpipe
