// SPDX-License-Identifier: Apache-2.0
#include "harness/commands/options/capture_choice.hh"

#include "common/support/json_object.hh"

namespace thinpipe {
namespace {

constexpr double min_capture_bytes = 1e4;
constexpr double max_capture_bytes = 1e12;

}  // namespace

void CaptureChoice::add_to(CLI::App& command, const std::string& files) {
  CLI::Option* const capture =
      command
          .add_option(
              capture_option, links,
              "Links whose frames to capture: \"left-middle\", or \"bottlenecks\" for all bottlenecks. "
              "Headers go to " +
                  files)
          ->delimiter(',')
          ->allow_extra_args(false)
          ->type_name("LINK[,LINK...]");
  command
      .add_option("--capture-size", max_size,
                  "What a link's capture may take on disk; the newest frames are kept")
      ->type_name("SIZE")
      ->needs(capture)
      ->capture_default_str();
}

netem::CaptureOptions CaptureChoice::options() const {
  double bytes = 0;
  read_value(max_size, {"--capture-size", ""},
             {.quantity = Quantity::size, .at_least = min_capture_bytes, .at_most = max_capture_bytes},
             bytes);
  return {.links = links, .max_bytes = static_cast<std::int64_t>(bytes)};
}

}  // namespace thinpipe
