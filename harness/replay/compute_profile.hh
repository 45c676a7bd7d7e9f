// How long the parts of an iteration take that are not the network's: what a replay does instead of
// computing. Measured by thinpipe-trainer's "profile", or estimated by its "estimate". Format:
// docs/results.md, compute-profile.json. Pure.
#pragma once

#include <string>
#include <vector>

#include "harness/replay/trace.hh"

namespace thinpipe {

// 1 had no between_s, 2 neither prepare_s nor variation, 3 neither start_s nor taking_s.
inline constexpr int profile_schema_version = 4;

struct ComputeTimes {
  double load_s = 0;                 // until the batch is there
  std::vector<double> ready_s = {};  // from then until each parameter's gradient is, in the model's order
  double compute_s = 0;              // from then until forward and backward are done
  double finish_s = 0;               // from the end of the last exchange to new weights
  double encode_s = 0;               // of the whole gradient, by the method
  double decode_s = 0;
  double between_s = 0;  // of encode_s, what comes between a bucket's collectives and not before them
  double taking_s = 0;   // of decode_s, what is done piece by piece while others are under way
  double prepare_s = 0;  // meanwhile, by a thread of its own, for the next batch; 0 where nobody waits for it
  double start_s = 0;    // by how much longer all of a training's first iteration takes than of later ones
};

struct ComputeProfile {
  std::string origin = "measured";  // or "estimated"
  Json device = nullptr;            // what it was measured on, and with
  Json configuration = nullptr;     // the training's, normalised
  std::int64_t concurrent_workers = 1;
  std::int64_t iterations = 1;  // that the times are means of

  ComputeTimes elapsed = {};
  // Of a processor core, which workers that are more than the cores share; where that was measured.
  std::optional<ComputeTimes> processor = {};
  // Standard deviation of a worker's iterations' processor time from one to the next, as a share of the mean.
  // Whoever is slow keeps all waiting: iterations that vary take longer than ones that do not.
  double variation = 0;
};

Json to_json(const ComputeProfile& profile);

// Strict; throws InputError.
ComputeProfile parse_profile(const Json& value, const std::string& file);
ComputeProfile load_profile(const std::string& path);

// Throws InputError, naming `file` as the profile's, where it was made for another model, batch or number of
// parameters than the trace.
void check_profile_fits(const ComputeProfile& profile, const std::string& file,
                        const CommunicationTrace& trace);

}  // namespace thinpipe
