// SPDX-License-Identifier: Apache-2.0
// Compute profile: the time of each part of an iteration except communication. A replay emulates these times
// instead of computing. Measured by `thinpipe-trainer profile` or estimated by `thinpipe-trainer estimate`.
// Format: docs/reference/records.md, compute-profile.json. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/protocol/trace.hh"

namespace thinpipe {

// Added in 2: between_collectives_s. In 3: prepare_s, variation. In 4: warm_up_s, overlapped_decode_s. In 5:
// new names (common/support/renamed_names.json).
inline constexpr int profile_schema_version = 5;
// Profiles measured before are measured again. At least the version that last added a member; since then, of what is
// measured: from 5, coding times of a method that exchanges fragments of the model are of the whole model; from 6,
// workers have the environment that they have in runs; from 7, estimates of optimisers have a start time of their own.
inline constexpr int profile_content_version = 7;

struct ComputeTimes {
  double load_s = 0;                 // until the batch is loaded
  std::vector<double> ready_s = {};  // from then until each parameter's gradient is ready, in model order
  double compute_s = 0;              // from then until forward and backward pass are done
  double finish_s = 0;               // from the end of the last exchange until the weights are updated
  double encode_s = 0;               // encoding of the whole gradient by the method
  double decode_s = 0;               // decoding of the whole gradient
  double between_collectives_s = 0;  // part of encode_s between a bucket's collectives, not before them
  double overlapped_decode_s = 0;    // part of decode_s that overlaps with communication, chunk by chunk
  double prepare_s = 0;  // preparing the next batch in another thread; 0 if it delays no iteration
  double start_s = 0;    // extra time of a training run's first iteration
};

struct ComputeProfile {
  std::string origin = "measured";  // or "estimated"
  Json device = nullptr;            // hardware and software of the measurement
  Json configuration = nullptr;     // of the training run, normalised
  std::int64_t concurrent_workers = 1;
  std::int64_t iterations = 1;  // averaged over

  ComputeTimes elapsed = {};
  // CPU time, for workers that outnumber the cores and share them; nullopt if not measured.
  std::optional<ComputeTimes> cpu = {};
  // Standard deviation of a worker's CPU time per iteration, relative to the mean. All workers wait for the
  // slowest, so variation lengthens iterations.
  double variation = 0;
};

Json to_json(const ComputeProfile& profile);

// Strict; throws InputError.
ComputeProfile parse_profile(const Json& value, const std::string& file);
ComputeProfile load_profile(const std::string& path);

// Throws InputError, with `file` as the profile's path, if the profile's model, data set, batch size or
// number of parameters differs from the trace's.
void check_profile_fits(const ComputeProfile& profile, const std::string& file,
                        const CommunicationTrace& trace);

}  // namespace thinpipe
