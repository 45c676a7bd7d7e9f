// How large a run's buckets are where its configuration leaves it to the network ("buckets": {"size":
// "auto"}).
#pragma once

#include <cstdint>
#include <optional>

#include "harness/run_plan.hh"

namespace thinpipe {

// A bucket's worth of collectives takes at least this long, whatever it holds: a number or a scale for all
// workers, and then the bulk, each through all that a message passes on its way.
double least_bucket_s(const Run& run);

// From the run's plan. T seconds of exchange in K buckets take T + K f, where f is least_bucket_s; and of the
// last bucket, which comes when all is computed, nothing can be hidden, T / K. Together these take least
// where K = sqrt(T / f). In whole MiB of gradient. Nothing where no capped link lies on the way.
std::optional<std::int64_t> suitable_bucket_bytes(const Run& run);

}  // namespace thinpipe
