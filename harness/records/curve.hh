// The curve of a record: its evaluations. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe {

// An evaluation. Values that were not measured, or were not finite, are NaN.
struct CurvePoint {
  std::int64_t iteration = 0;
  double epoch = 0;
  double train_time_s = 0;
  double train_loss = 0;
  double test_loss = 0;
  double test_accuracy = 0;
};

// Reads a record's "curve". Throws InputError, with the place in the record and the rule, unless every entry
// is a "curve_point" of record.schema.json.
std::vector<CurvePoint> read_curve(const Json& curve);

}  // namespace thinpipe
