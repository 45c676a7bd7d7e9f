// When the buckets of a layout can be exchanged, by the times of a compute profile. Pure.
#pragma once

#include "harness/replay/compute_profile.hh"

namespace thinpipe {

struct TimedBucket {
  double ready_s = 0;  // after the batch was there
  double share = 0;    // of the gradient's elements

  // What encoding takes right before the bucket's collective of that number, of so many.
  double encode_before_s(const ComputeTimes& times, std::size_t collective, std::size_t collectives) const;
};

// In the order of exchange.
std::vector<TimedBucket> timed_layout(const TracedLayout& layout, const CommunicationTrace& trace,
                                      const ComputeTimes& times);

}  // namespace thinpipe
