// SPDX-License-Identifier: Apache-2.0
#include "netem/fidelity/link_readings.hh"

#include <future>

namespace thinpipe::netem {

LinkReadings read_during(const Network& network, const std::set<std::string>& directions,
                         std::chrono::milliseconds period, const std::function<void()>& traffic) {
  LinkReadings readings;
  const auto read = [&] {
    for (const LinkCounters& counters : network.counters()) {
      if (directions.contains(counters.name)) readings[counters.name].push_back(counters);
    }
  };
  auto passing = std::async(std::launch::async, traffic);
  do {
    read();
  } while (passing.wait_for(period) != std::future_status::ready);
  read();
  passing.get();
  return readings;
}

}  // namespace thinpipe::netem
