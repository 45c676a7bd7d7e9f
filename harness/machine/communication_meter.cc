#include "harness/machine/communication_meter.hh"

#include <algorithm>
#include <chrono>
#include <thread>

#include "common/support/exception.hh"

namespace thinpipe {

CommunicationMeter::CommunicationMeter(const netem::AwakeCores& awake, double cores)
    : awake_(awake), cores_(cores), turns_per_s_(0) {
  // The fastest of some spans: other programs can only slow the threads down.
  constexpr int spans = 8;
  for (int i = 0; i < spans; ++i) {
    const Reading from = read();
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
    const Reading to = read();
    turns_per_s_ = std::max(turns_per_s_, (to.turns - from.turns) / (to.clock_s - from.clock_s) / cores_);
  }
}

void CommunicationMeter::take(const Event& event) {
  if (std::holds_alternative<event::Replaying>(event) ||
      std::holds_alternative<event::ReplayedIteration>(event)) {
    readings_.push_back(read());
  } else if (const auto* replayed = std::get_if<event::Replayed>(&event)) {
    for (const event::ReplayedClass& each : replayed->classes) steps_.push_back(each.iterations);
  }
}

std::vector<double> CommunicationMeter::class_times_s() const {
  if (steps_.empty()) throw Error("measure the CPU time of communication: the replay has not ended");
  std::vector<double> times_s;
  std::size_t first = 0;
  for (const std::int64_t steps : steps_) {
    const std::size_t last = first + static_cast<std::size_t>(steps);
    const Reading& from = readings_.at(first);
    const Reading& to = readings_.at(last);
    const double idle_s = (to.turns - from.turns) / turns_per_s_;
    times_s.push_back(std::max(0.0, cores_ * (to.clock_s - from.clock_s) - idle_s) /
                      static_cast<double>(steps));
    first = last;
  }
  return times_s;
}

CommunicationMeter::Reading CommunicationMeter::read() const {
  return {
      .clock_s = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(),
      .turns = static_cast<double>(awake_.turns())};
}

}  // namespace thinpipe
