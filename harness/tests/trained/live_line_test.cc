// SPDX-License-Identifier: Apache-2.0
// The line that shows a run in progress on a terminal.
#include <regex>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

TEST(LiveLine, ShowsTheAccuraciesSoFarAsACurve) {
  const Program program(built_program("thinpipe-trainer"));
  Json base = loopback;
  base.update({{"workers", 2},
               {"model", {{"name", "small_cnn"}}},
               {"dataset", {{"name", "synthetic"}}},
               {"pretraining", {{"iterations", 0}}},
               {"training", {{"batch_size_per_worker", 16}, {"evaluate_every_iterations", 4}}}});
  const auto arguments = program.run_arguments(program.experiment(base));
  const Output shown =
      run_program({"script", "--quiet", "--return", "--command",
                   fmt::format("THINPIPE_TRAINER={} {} {}", built_program("thinpipe-trainer"),
                               built_program("thinpipe"), fmt::join(arguments, " ")),
                   "/dev/null"},
                  "");
  EXPECT_TRUE(shown.status.ok()) << shown.text;
  EXPECT_TRUE(
      std::regex_search(shown.text, std::regex("base: (▁|▂|▃|▄|▅|▆|▇|█)+ epoch 0, iteration [0-9]+/[0-9]+, "
                                               "accuracy 0\\.[0-9]{3}, ")))
      << shown.text;
}

}  // namespace
}  // namespace thinpipe
