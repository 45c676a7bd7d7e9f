#include "harness/replay/timed_layout.hh"

#include <algorithm>

namespace thinpipe {

double TimedBucket::encode_before_s(const ComputeTimes& times, std::size_t collective,
                                    std::size_t collectives) const {
  if (collectives < 2) return share * times.encode_s;
  const double others_s = times.between_s / static_cast<double>(collectives - 1);
  return share * (collective == 0 ? times.encode_s - times.between_s : others_s);
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
