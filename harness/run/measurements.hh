// What rank 0 reports during a run, gathered into the numbers of the record. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "common/support/json_object.hh"

namespace thinpipe {

// The p-th quantile (0..1) with linear interpolation between order statistics; `values` must not be empty.
double quantile(std::vector<double> values, double p);

class Measurements {
 public:
  // An iteration (of a replay too), evaluation or summary event; others are ignored. Iterations whose
  // train_time_s is null tell nothing of time; a part of an iteration's time is null where it is not known.
  // Throws Json::exception where a field is missing or of another type, and has then added no time.
  void add(const Json& event);

  // Training goes on after this iteration, from a checkpoint: what the curve holds of later ones is gone with
  // the model it was measured on. Times and bytes count all that was done.
  void go_back_to(std::int64_t iteration);

  std::int64_t iterations() const { return iterations_; }  // the number of the last one
  double train_time_s() const { return train_time_s_; }
  std::int64_t payload_bytes() const { return payload_bytes_; }  // handed to collectives by rank 0
  // By the formula of the collectives' algorithms, whose shares of a message need not be whole bytes.
  double sent_bytes() const { return sent_bytes_; }
  const Json& curve() const { return curve_; }
  const Json& summary() const { return summary_; }

  // {"p50", "p90", "mean", "compute", "encode", "exchange", "decode", "exposed_exchange"}: seconds; the parts
  // are means. A replay's iterations that stand for the first of many are not among them. Null before the
  // first iteration that tells of time.
  Json iteration_time_s() const;

 private:
  void add_times(const Json& event);

  std::int64_t iterations_ = 0;
  std::vector<double> iteration_times_s_;
  Json parts_s_ = Json::object();  // part: sum over iterations; null where one did not tell
  double train_time_s_ = 0;
  std::int64_t payload_bytes_ = 0;
  double sent_bytes_ = 0;
  Json curve_ = Json::array();
  Json summary_ = nullptr;
};

}  // namespace thinpipe
