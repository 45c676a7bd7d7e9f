// SPDX-License-Identifier: Apache-2.0
// When the buckets of a layout are ready for exchange, according to a compute profile. Pure.
#pragma once

#include "common/protocol/compute_profile.hh"

namespace thinpipe {

// The time of encoding and decoding a bucket around one of its calls.
struct CallCoding {
  double before_s = 0;             // encoding before the call
  double overlapped_encode_s = 0;  // encoding during the call
  double overlapped_decode_s = 0;  // decoding during the call
  double after_s = 0;              // decoding after the call

  double within_s() const { return overlapped_encode_s + overlapped_decode_s; }
};

struct TimedBucket {
  double ready_s = 0;  // after the batch is loaded
  double share = 0;    // fraction of the gradient's elements

  // Returns the times of encoding and decoding around the bucket's call with index `call`; for a bucket
  // without calls, all of its encoding and decoding. overlaps: whether sums in chunks overlap with them.
  CallCoding coding(const ComputeTimes& times, const std::vector<CollectiveCall>& calls, std::size_t call,
                    bool overlaps = true) const;
};

// Returns the buckets in the order of exchange.
std::vector<TimedBucket> timed_layout(const TracedLayout& layout, const CommunicationTrace& trace,
                                      const ComputeTimes& times);

}  // namespace thinpipe
