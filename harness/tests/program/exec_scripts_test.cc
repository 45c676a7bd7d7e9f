// SPDX-License-Identifier: Apache-2.0
// Training scripts for torchrun under thinpipe exec: each puts the bytes on the wire that its method must send.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/support/file_descriptor.hh"
#include "common/support/tests/paths.hh"
#include "harness/tests/program.hh"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string debians_python = "/usr/bin/python3";
// The one that scripts/current_pytorch.sh installs.
const std::string current_python = source_path("build/pytorch-venv/bin/python");

// Of the network in docs/examples, which has a hidden layer of 512 units.
constexpr double weights_bytes = 4 * (784 * 512 + 512 + 512 * 10 + 10);
constexpr int steps = 6;

bool has_torch(const std::string& python, const std::string& version = "1") {
  if (!fs::exists(python)) return false;
  return ChildProcess(
             {.arguments = {python, "-c", "import torch; assert torch.__version__ >= '" + version + "'"}})
      .wait()
      .ok();
}

// Returns the payload of a full frame on its way through a link, with the frame's headers.
double on_the_wire(double payload_bytes) {
  return payload_bytes * 1514 / 1448;
}

// Runs a script of docs/examples in two hosts. Expects these payloads on the link's directions, each with at
// most 4 % of the other direction's bytes for acknowledgements, and 60 kB for connecting.
void expect_traffic(const std::string& python, std::vector<std::string> command, double forward_payload_bytes,
                    double backward_payload_bytes) {
  const Program program;
  const fs::path file = program.folder() / "report.json";
  command[0] = source_path("docs/examples/" + command[0]);
  command.insert(command.end(), {"--steps", std::to_string(steps)});
  command.insert(command.begin(), {"exec", "pair", "--json", file, "--", python});
  const auto ended = program.run(command);
  ASSERT_EQ(ended.status.code, 0) << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("w0: step 6 "));
  EXPECT_THAT(ended.output, HasSubstr(" loss "));
  const Json traffic = Json::parse(read_file(file)).at("traffic");
  const double forward = on_the_wire(forward_payload_bytes);
  const double backward = on_the_wire(backward_payload_bytes);
  const auto expect = [](const Json& direction, double expected, double other) {
    const auto bytes = direction.at("wire_bytes").get<double>();
    EXPECT_GE(bytes, expected) << direction;
    EXPECT_LE(bytes, expected + 0.04 * other + 60e3) << direction;
  };
  expect(traffic.at(0), forward, backward);
  expect(traffic.at(1), backward, forward);
}

// DistributedDataParallel first sends rank 0's weights to all. Of two workers in a ring, each then sends the
// whole gradient once.
void expect_ddp_traffic(const std::vector<std::string>& command, double gradient_bytes) {
  if (!has_torch(debians_python)) GTEST_SKIP() << debians_python << " has no torch; install python3-torch";
  const double sum = steps * gradient_bytes;
  expect_traffic(debians_python, command, weights_bytes + sum, sum);
}

TEST(ExecScripts, Ddp) {
  expect_ddp_traffic({"ddp.py"}, weights_bytes);
}

TEST(ExecScripts, DdpWithAHook) {
  expect_ddp_traffic({"ddp.py", "--fp16"}, weights_bytes / 2);
}

TEST(ExecScripts, DdpThatAccumulatesGradients) {
  expect_ddp_traffic({"ddp.py", "--accumulate", "3"}, weights_bytes);
}

TEST(ExecScripts, HandWrittenCommunication) {
  if (!has_torch(debians_python)) GTEST_SKIP() << debians_python << " has no torch; install python3-torch";
  const double averages = 3 * weights_bytes;
  expect_traffic(debians_python, {"local_sgd.py", "--every", "2"}, averages, averages);
}

// Each worker holds half of the weights. It sends its half for the forward pass and again for the backward
// pass, and half of the gradient.
TEST(ExecScripts, Fsdp) {
  if (!has_torch(current_python, "2"))
    GTEST_SKIP() << current_python << " has no torch; run scripts/current_pytorch.sh";
  const double sum = steps * 1.5 * weights_bytes;
  expect_traffic(current_python, {"fsdp.py"}, sum, sum);
}

}  // namespace
}  // namespace thinpipe
