// What the capped links carried while a run trained, by the kernel's counters.
#pragma once

#include <optional>
#include <vector>

#include "common/support/json_object.hh"
#include "netem/conductor.hh"
#include "netem/network.hh"

namespace thinpipe {

// What left a shaper from one reading to the next; nullopt if the second is no later one: the kernel's
// counter began again meanwhile, or the end was never measured.
std::optional<std::uint64_t> bytes_between(const netem::LinkCounters& before,
                                           const netem::LinkCounters& after);

class LinkMeter {
 public:
  // Both must outlive this. Counts from now on; begin() makes a new start.
  LinkMeter(const netem::Network& network, const netem::Conductor& conductor);

  // Bytes count from the first evaluation, before which workers only meet and agree on their weights, to the
  // end of the last iteration.
  void begin();
  void end();

  double measured_s() const;  // from begin() to end()

  // The share of its cap that the busiest direction used since this last gave one; nothing where that was a
  // moment ago, or where no link has a cap.
  std::optional<double> use_since_last();

  // By direction: bytes on the wire, and the share of the mean cap in use during the train time; null where
  // the link was down throughout.
  Json wire_bytes() const;
  Json utilisation(double train_time_s) const;

 private:
  const netem::Network& network_;
  const netem::Conductor& conductor_;
  std::vector<netem::LinkCounters> before_;
  std::vector<netem::LinkCounters> after_;
  std::vector<netem::LinkCounters> shown_;
};

}  // namespace thinpipe
