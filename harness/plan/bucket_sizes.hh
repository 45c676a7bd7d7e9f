// SPDX-License-Identifier: Apache-2.0
// The bucket size for a run whose configuration leaves it to the network ("buckets": {"size": "auto"}).
#pragma once

#include <cstdint>
#include <optional>

#include "harness/plan/run.hh"

namespace thinpipe {

// Returns a lower bound on the time of a bucket's collectives, whatever its size: the latency of two
// collectives, one for a number or scale that all workers need and one for the data.
double min_bucket_s(const Run& run);

// Returns a bucket size from the run's plan and collective, in whole MiB of gradient; nullopt if no link has
// a cap.
//
// An exchange of T seconds takes T + K f in K buckets, where f is min_bucket_s. The time of one bucket is not
// overlapped. If the exchange takes longer than the compute time B, the exchange waits B / K for the first
// bucket; otherwise compute has ended when the last bucket is exchanged, for T / K. B is unknown, because it
// depends on the machine and a plan does not. K = sqrt(T / f) / 2 is optimal if B = T / 4. For any B, this K
// takes at most sqrt(T f) / 2 longer than the optimum.
std::optional<std::int64_t> suitable_bucket_bytes(const Run& run);

}  // namespace thinpipe
