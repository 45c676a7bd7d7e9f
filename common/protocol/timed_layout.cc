// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/timed_layout.hh"

#include <algorithm>

namespace thinpipe {

CallCoding TimedBucket::coding(const ComputeTimes& times, const std::vector<CollectiveCall>& calls,
                               std::size_t call, bool overlaps) const {
  const auto others = static_cast<double>(calls.size()) - 1;
  const double between_collectives_s = others > 0 ? times.between_collectives_s : 0;
  const double encode_s =
      share * (call == 0 ? times.encode_s - between_collectives_s : between_collectives_s / others);
  const bool is_last = call + 1 >= calls.size();
  const double decode_s = is_last ? share * times.decode_s : 0;
  if (overlaps && call < calls.size() && chunked_all_reduce(calls[call]) != nullptr) {
    const double overlapped_decode_s = is_last ? share * times.overlapped_decode_s : 0;
    return {.overlapped_encode_s = encode_s,
            .overlapped_decode_s = overlapped_decode_s,
            .after_s = decode_s - overlapped_decode_s};
  }
  return {.before_s = encode_s, .after_s = decode_s};
}

std::vector<TimedBucket> timed_layout(const TracedLayout& layout, const CommunicationTrace& trace,
                                      const ComputeTimes& times) {
  std::vector<TimedBucket> out;
  std::int64_t all = 0;
  for (const TracedParameter& parameter : trace.parameters) all += parameter.elements;
  for (const TracedBucket& bucket : layout) {
    TimedBucket& timed = out.emplace_back();
    std::int64_t elements = 0;
    for (const std::size_t p : bucket.parameters) {
      elements += trace.parameters[p].elements;
      timed.ready_s = std::max(timed.ready_s, times.ready_s[p]);
    }
    timed.share = static_cast<double>(elements) / static_cast<double>(std::max<std::int64_t>(all, 1));
  }
  return out;
}

}  // namespace thinpipe
