#include "common/support/fuzz/input.hh"
#include "trainer/training/parents.hh"
#include "trainer/training/straggler.hh"

using namespace thinpipe;

// A worker file without its configuration, as far as it can be read without LibTorch.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::expect_result_or_error([&] {
    const Json file = parse_json(fuzz::text(data, size), "worker.json");
    JsonObject object(file, {"worker.json", ""});
    std::int64_t world_size = 0;
    object.read("world_size", world_size, {.at_least = 1, .at_most = 1000, .required = true});
    const std::vector<int> parents = trainer::read_parents(object, world_size);
    for (const int parent : parents)
      fuzz::require(parent >= -1 && parent < world_size, "a parent is a worker or none");
    const Json* slowdowns = object.find("slowdowns");
    if (slowdowns == nullptr) return;
    for (const trainer::Slowdown& slowdown :
         trainer::read_slowdowns(*slowdowns, object.place_of("slowdowns"))) {
      fuzz::require(slowdown.factor >= 1 && slowdown.at_iteration >= 0, "a slowdown slows down");
    }
  });
}
