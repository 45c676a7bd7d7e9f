// When the buckets of a layout can be exchanged, by the times of a compute profile. Pure.
#pragma once

#include "harness/replay/compute_profile.hh"

namespace thinpipe {

// What coding a bucket takes around one of its calls.
struct CallCoding {
  double before_s = 0;  // encoding before it
  double making_s = 0;  // encoding while it is under way
  double taking_s = 0;  // decoding meanwhile
  double after_s = 0;   // decoding after it

  double within_s() const { return making_s + taking_s; }
};

struct TimedBucket {
  double ready_s = 0;  // after the batch was there
  double share = 0;    // of the gradient's elements

  // Around the bucket's call of that number. Of a bucket without calls, around none. overlaps: of sums in
  // pieces, whether they go on while pieces are made and taken.
  CallCoding coding(const ComputeTimes& times, const std::vector<CollectiveCall>& calls, std::size_t call,
                    bool overlaps = true) const;
};

// In the order of exchange.
std::vector<TimedBucket> timed_layout(const TracedLayout& layout, const CommunicationTrace& trace,
                                      const ComputeTimes& times);

}  // namespace thinpipe
