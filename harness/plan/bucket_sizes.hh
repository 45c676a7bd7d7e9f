// How large a run's buckets are where its configuration leaves it to the network ("buckets": {"size":
// "auto"}).
#pragma once

#include <cstdint>
#include <optional>

#include "harness/plan/run.hh"

namespace thinpipe {

// A bucket's worth of collectives takes at least this long, whatever it holds: a number or a scale for all
// workers, and then the bulk, each through all that a message passes on its way.
double least_bucket_s(const Run& run);

// From the run's plan. T seconds of exchange in K buckets take T + K f, where f is least_bucket_s. Besides
// there is a bucket during which nothing else goes on: the first to be computed, B / K, where the exchange
// takes longer than computing's B seconds, and else the last to be exchanged, T / K. What a machine computes
// in is no part of a run, so B is unknown. K = sqrt(T / f) / 2 is best where B is a quarter of T, and for no
// B takes over sqrt(T f) / 2 longer than the best. In whole MiB of gradient. Nothing where no capped link
// lies on the way.
std::optional<std::int64_t> suitable_bucket_bytes(const Run& run);

}  // namespace thinpipe
