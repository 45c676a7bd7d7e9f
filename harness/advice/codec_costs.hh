// SPDX-License-Identifier: Apache-2.0
// What a method's encoding and decoding cost, from the results of synchroniser_benchmarks. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/support/json_object.hh"

namespace thinpipe {

// Time per exchange of the whole gradient, on one CPU core that does nothing else.
struct CodecTime {
  double encode_s = 0;
  double decode_s = 0;

  double total_s() const { return encode_s + decode_s; }
};

class CodecCosts {
 public:
  CodecCosts() = default;  // knows no method

  // Reads the output of synchroniser_benchmarks --benchmark_out. Throws InputError with `file`.
  CodecCosts(const Json& result, const std::string& file);

  // Returns whether the cost of any method is known.
  bool known() const { return !times_.empty(); }

  // Returns the machine and the day of the measurement.
  const std::string& origin() const { return origin_; }

  // Returns the time of the method of a configuration, which is normalised. `plan`: of the trainer, for that
  // many workers. Costs are proportional to the gradient's size between and beyond the measured sizes, and
  // decoding of gathered messages to the number of workers. nullopt if the method was not measured with these
  // options, with the prune ratio if that decides how much it packs, or alone.
  std::optional<CodecTime> of(const Json& config, const Json& plan, std::int64_t workers) const;

 private:
  CodecTime at(const std::string& benchmark, double entries) const;

  std::map<std::string, std::map<double, CodecTime>> times_;  // by benchmark and number of entries
  std::string origin_;
};

}  // namespace thinpipe
