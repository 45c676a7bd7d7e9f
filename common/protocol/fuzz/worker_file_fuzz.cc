// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/worker_file.hh"
#include "common/support/fuzz/input.hh"

using namespace thinpipe;

namespace {

template <WorkerFile File>
void check_round_trip(const Json& value) {
  fuzz::expect_result_or_error([&] {
    const auto file = parse_worker_file<File>(value, "worker.json");
    const std::string text = to_json(file).dump();
    fuzz::require(parse_worker_file<File>(parse_json(text, "worker.json"), "worker.json") == file,
                  "a worker file reads back as it was written");
    if constexpr (requires { file.group_options; }) {
      const GroupOptions& own = file.group_options;
      fuzz::require(own.rank >= 0 && own.rank < own.world_size, "a worker is one of its group");
      for (const int parent : own.reduction_tree) {
        fuzz::require(parent >= -1 && parent < own.world_size, "a parent is a worker or none");
      }
    }
    if constexpr (requires { file.slowdowns; }) {
      for (const Slowdown& slowdown : file.slowdowns) {
        fuzz::require(slowdown.factor >= 1 && slowdown.at_iteration >= 0, "a slowdown slows down");
      }
    }
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::expect_result_or_error([&] {
    const Json value = parse_json(fuzz::text(data, size), "worker.json");
    check_round_trip<WorkFile>(value);
    check_round_trip<ProfileFile>(value);
    check_round_trip<ReplayFile>(value);
    check_round_trip<ConvergeFile>(value);
    check_round_trip<PretrainFile>(value);
    check_round_trip<EstimateFile>(value);
    check_round_trip<MeasureFile>(value);
  });
}
