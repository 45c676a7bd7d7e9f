// What a run aims at, fixed before it: the level of a metric whose time is asked for.
#pragma once

#include <string>
#include <vector>

#include "harness/support/json_object.hh"

namespace thinpipe {

struct Target {
  enum class Metric {
    accuracy,       // share of the test set that is classified rightly: at least
    test_loss,      // mean cross-entropy over the test set in nats: at most
    bits_per_byte,  // the same of a text, in bits: at most
  };

  Metric metric = Metric::accuracy;
  double value = 0;

  bool operator==(const Target&) const = default;
};

// "accuracy", "test_loss", "bits_per_byte".
std::string name_of(Target::Metric metric);

// A number is an accuracy; {"accuracy": 0.84}, {"test_loss": 0.5}, {"bits_per_byte": 2.2}. Throws InputError.
Target read_target(const Json& value, const Place& place);

// The list under "targets"; empty when absent.
std::vector<Target> read_targets(JsonObject& object);

// What read_targets reads, as an entry of describe_options (harness/support/options.hh): "any_of" has an
// entry for each way in which an element may be written.
Json describe_targets();

// The target that an entry of a record's "targets" is the result of.
Target target_of(const Json& result);

// An accuracy as a number, the others as an object.
Json to_json(const Target& target);
Json to_json(const std::vector<Target>& targets);

// "0.84" for an accuracy, "bits_per_byte 2.2".
std::string to_string(const Target& target);

// The metric at an entry of a record's curve; NaN where it was not finite or not measured.
double measure(Target::Metric metric, const Json& curve_entry);

// Whether a measured value is as good as the target or better; never for NaN.
bool is_reached(const Target& target, double measured);

}  // namespace thinpipe
