#include "common/protocol/event_check.hh"
#include "common/support/fuzz/input.hh"
#include "harness/run/iteration_reports.hh"
#include "harness/run/measurements.hh"

using namespace thinpipe;

// Passes lines to the functions by which the controller reads a worker's events.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = fuzz::text(data, size);
  Measurements measurements;
  netem::TrainClock clock;
  IterationReports reports(clock, 0);
  constexpr double now_s = 1000;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    fuzz::expect_result_or_error([&] {
      try {
        const Json event = Json::parse(rest.substr(0, end), shallow);
        check_event(event);
        measurements.add(event);
        reports.take(event, now_s);
      } catch (const Json::exception&) {
        // Not an event: the run fails as "protocol".
      }
    });
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const Json times = measurements.iteration_time_s();
  fuzz::require(times.is_null() || times.at("mean").get<double>() >= 0, "times are not negative");
  fuzz::require(measurements.payload_bytes() >= 0, "bytes are not negative");
  fuzz::require(clock.read_s(now_s) >= 0, "train time is not negative");
  return 0;
}
