// SPDX-License-Identifier: Apache-2.0
#include "netem/fidelity/link_readings.hh"

#include <algorithm>
#include <future>
#include <thread>

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

void wait_until_quiet(const Network& network, std::chrono::duration<double> quiet,
                      std::chrono::duration<double> longest) {
  const auto deadline = std::chrono::steady_clock::now() + longest;
  std::vector<LinkCounters> before = network.counters();
  while (std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(quiet);
    std::vector<LinkCounters> after = network.counters();
    if (std::ranges::equal(before, after, {}, &LinkCounters::bytes, &LinkCounters::bytes)) return;
    before = std::move(after);
  }
}

}  // namespace thinpipe::netem
