// SPDX-License-Identifier: Apache-2.0
// Training scripts with PyTorch: that of docs/tutorials/your-script.md, and one with a method of Thinpipe.
#include <cstdlib>
#include <fstream>

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

const std::string ddp_script = R"(
import torch
import torch.distributed as dist
import thinpipe

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 4))
thinpipe.ddp_hook(model, {"name": "fp16"})
thinpipe.report(iteration=0)
model(torch.ones(2, 8)).sum().backward()
thinpipe.report(iteration=1)
dist.barrier()
)";

TEST(TrainingScript, FindsTheExtensionOfTheBuild) {
  if (!std::filesystem::exists(built_program("python/thinpipe/_core.so")))
    GTEST_SKIP() << "this build has no Python package: install python3-dev, pybind11-dev and python3-torch";
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", ("/usr/bin:" + path).c_str(), 1);
  for (const std::string python : {"/usr/bin/python3", "python3"}) {
    const Program program;
    std::ofstream(program.folder() / "train.py") << ddp_script;
    const std::string experiment = program.experiment(
        {{"topology", "loopback"}, {"workers", 2}, {"trainer", {{"command", {python, "train.py"}}}}});
    const auto ended = program.run(program.run_arguments(experiment));
    EXPECT_EQ(ended.status.code, 0) << ended.errors;
    EXPECT_EQ(program.record("base").at("traffic").at("payload_bytes_per_worker"), 2 * (8 * 4 + 4));
  }
  ::setenv("PATH", path.c_str(), 1);
}

// Its package has no extension for another PyTorch.
TEST(TrainingScript, OfAnotherPythonGetsThePackageWithoutTheExtension) {
  const Program program;
  const auto folder = program.folder();
  std::filesystem::create_directory(folder / "bin");
  std::filesystem::create_symlink("/usr/bin/python3", folder / "bin" / "python3");
  std::ofstream(folder / "train.py") << "import thinpipe\n"
                                        "open('place', 'w').write(thinpipe.__file__)\n"
                                        "thinpipe.report(iteration=1)\n";
  const std::string experiment = program.experiment(
      {{"topology", "loopback"}, {"workers", 2}, {"trainer", {{"command", {"bin/python3", "train.py"}}}}});
  const auto ended = program.run(program.run_arguments(experiment));
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_EQ(read_file(folder / "place"), source_path("trainer/python/thinpipe/__init__.py"));
}

}  // namespace
}  // namespace thinpipe
