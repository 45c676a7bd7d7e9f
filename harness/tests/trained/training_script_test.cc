// SPDX-License-Identifier: Apache-2.0
// The training script of docs/tutorials/your-script.md, with PyTorch.
#include <gtest/gtest.h>

#include "common/support/tests/paths.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

TEST(TrainingScript, TrainsWithAHookOfItsOwn) {
  if (!ChildProcess({.arguments = {"/usr/bin/python3", "-c", "import torch"}}).wait().ok())
    GTEST_SKIP() << "/usr/bin/python3 has no torch; install python3-torch";
  const Program program;
  const std::string experiment = program.experiment(
      {{"topology", "loopback"},
       {"targets", {0.3}},
       {"trainer",
        {{"command", {"/usr/bin/python3", source_path("docs/examples/methods.py"), "--method", "{method}"}},
         {"method", "largest"},
         {"options", {{"ratio", 0.05}}}}}});
  const auto ended = program.run(program.run_arguments(experiment));
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  const Json record = program.record("base");
  EXPECT_EQ(record.at("iterations"), 60);
  EXPECT_EQ(record.at("curve").size(), 7);
  EXPECT_EQ(record.at("targets").at(0).at("reached"), true) << record.at("curve");
  EXPECT_GT(record.at("traffic").at("payload_bytes_per_worker"), 0);
  EXPECT_TRUE(record.at("provenance").at("libraries").contains("torch"));
}

}  // namespace
}  // namespace thinpipe
