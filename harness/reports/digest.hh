// What a report keeps of a record, so that it need not hold all records at once. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/support/json_object.hh"
#include "harness/support/target.hh"

namespace thinpipe {

// An evaluation; what was not measured, or was not finite, is NaN.
struct CurvePoint {
  std::int64_t iteration = 0;
  double epoch = 0;
  double train_time_s = 0;
  double train_loss = 0;
  double test_loss = 0;
  double test_accuracy = 0;
};

// What of a record is asked for beside its row.
struct Wanted {
  std::optional<Target> target = {};  // without one, the last of the record's own
  bool curve = false;
  bool origin = false;
};

struct Digest {
  Json row;  // docs/report.md defines its members; speed-ups, which take other runs, are missing
  std::string started_at;

  // Finds its baselines. `comparable` is equal for runs that are equal in all but method and pruning.
  std::string comparable;
  std::string method;
  Json pruning;

  std::vector<std::string> origin;  // the values of origin_facts(), if wanted
  std::vector<std::string> failed_checks;
  std::vector<CurvePoint> curve;  // if wanted
  Json iterations;                // in all, or null

  bool is_pruned() const { return pruning.value("ratio", 0.0) > 0; }
};

// Test accuracy at the last evaluation of a record's curve.
std::optional<double> final_accuracy(const Json& record);

// Throws InputError or Json::exception if the record has not the form of one.
Digest digest(const Json& record, const Wanted& wanted = {});

// The names of what is known of a run's origin, in the order of Digest::origin.
std::vector<std::string> origin_facts();

}  // namespace thinpipe
