// SPDX-License-Identifier: Apache-2.0
#include "common/support/fuzz/input.hh"
#include "harness/plan/worker_events.hh"

using namespace thinpipe;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::expect_result_or_error([&] {
    const Json config = parse_json(fuzz::text(data, size), "fuzz.json");
    JsonObject object(config, {"fuzz.json", ""});
    constexpr std::int64_t workers = 8;
    std::vector<WorkerEventOptions> given;
    object.read("worker_events", given);
    for (const WorkerEvent& event : make_worker_events(given, object.place_of("worker_events"), workers)) {
      fuzz::require(event.worker >= 0 && event.worker < workers, "an event names one of the workers");
      fuzz::require(slowdowns_of({event}, event.worker).size() == (event.slowdown ? 1U : 0U),
                    "a slowdown is found");
    }
  });
}
