// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/event.hh"
#include "common/support/fuzz/input.hh"
#include "harness/run/measurements.hh"
#include "harness/run/network/iteration_reports.hh"

using namespace thinpipe;

struct Consumers {
  void operator()(const event::IterationStarted& started) { reports.take(started, now_s); }
  void operator()(const event::Iteration& iteration) {
    measurements.add(iteration);
    reports.take(iteration, now_s);
  }
  void operator()(const event::ReplayedIteration& iteration) { measurements.add(iteration); }
  void operator()(const event::Evaluation& evaluation) { measurements.add(evaluation); }
  void operator()(const auto& /*other*/) {}

  static constexpr double now_s = 1000;
  Measurements measurements = {};
  netem::TrainClock clock = {};
  IterationReports reports{clock, 0};
};

// Passes lines to the functions by which the controller reads a worker's events, and writes the events again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = fuzz::text(data, size);
  Consumers consumers;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    fuzz::expect_result_or_error([&] {
      try {
        const Event event = parse_event(Json::parse(rest.substr(0, end), shallow));
        fuzz::require(parse_event(Json::parse(to_json(event).dump())) == event, "reads what it writes");
        std::visit(consumers, event);
      } catch (const Json::exception&) {
        // Not an event: the run fails as "protocol".
      }
    });
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const auto times = consumers.measurements.iteration_time_s();
  fuzz::require(!times || times->mean >= 0, "times are not negative");
  fuzz::require(consumers.measurements.payload_bytes().value_or(0) >= 0, "bytes are not negative");
  fuzz::require(consumers.clock.read_s(Consumers::now_s) >= 0, "train time is not negative");
  return 0;
}
