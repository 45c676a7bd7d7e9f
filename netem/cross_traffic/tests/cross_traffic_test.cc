// SPDX-License-Identifier: Apache-2.0
#include "netem/cross_traffic/cross_traffic.hh"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "netem/topology/frame.hh"
#include "netem/topology/tests/topologies.hh"

namespace thinpipe::netem {
namespace {

constexpr double rate_bit_per_s = 20e6;
constexpr double sending_s = 0.6;

// What a flow reported, and what the kernel counted on the first capped direction that it crossed.
struct Measured {
  CrossFlowBytes flow;
  double on_the_wire = 0;
  double back = 0;  // on the wire in the other direction
};

// Lets a flow send from the first host of the three switches to the last.
Measured send(CrossFlow flow) {
  const Network network(three_switch());
  flow.from = network.hosts().front().name;
  flow.to = network.hosts().back().name;
  const auto counted = [&network](const std::string& name) {
    for (const LinkCounters& counters : network.counters()) {
      if (counters.name == name) return static_cast<double>(counters.bytes);
    }
    throw Error("there is no " + name);
  };
  CrossTraffic traffic(network, {flow});
  const double before = counted("left->middle");
  const double back_before = counted("middle->left");
  traffic.begin();
  std::this_thread::sleep_for(std::chrono::duration<double>(sending_s));
  traffic.end();
  return {.flow = traffic.bytes().at(0),
          .on_the_wire = counted("left->middle") - before,
          .back = counted("middle->left") - back_before};
}

// A few frames are still on their way to the counter when the flow ends.
void expect_what_the_kernel_counted(const Measured& measured) {
  EXPECT_NEAR(measured.flow.sent, measured.on_the_wire, 0.05 * measured.on_the_wire);
  EXPECT_GT(measured.flow.received, 0.8 * goodput_of_cap * measured.on_the_wire);
  EXPECT_LE(measured.flow.received, measured.on_the_wire);
}

TEST(CrossTraffic, ReportsTheBytesOfDatagramsThatTheKernelCounts) {
  const Measured measured = send({.rate_bit_per_s = rate_bit_per_s});
  expect_what_the_kernel_counted(measured);
  EXPECT_NEAR(8 * measured.flow.sent, rate_bit_per_s * sending_s, 0.2 * rate_bit_per_s * sending_s);
}

// A datagram takes longer than the longest backlog.
TEST(CrossTraffic, SendsAtALowRate) {
  constexpr double low_bit_per_s = 100e3;
  const Measured measured = send({.rate_bit_per_s = low_bit_per_s});
  EXPECT_GT(measured.flow.sent, 0);
  EXPECT_LE(8 * measured.flow.sent, low_bit_per_s * sending_s + 8 * full_frame_bytes);
}

// Otherwise bridges would forget where the receiver is, and flood all links.
TEST(CrossTraffic, TheReceiverOfDatagramsAnswersNowAndThen) {
  const Measured measured = send({.rate_bit_per_s = rate_bit_per_s});
  EXPECT_GT(measured.back, 0);
  EXPECT_LT(measured.back, 0.01 * measured.on_the_wire);
}

TEST(CrossTraffic, ReportsTheBytesOfAConnectionThatTheKernelCounts) {
  const Measured measured = send({});
  expect_what_the_kernel_counted(measured);
  EXPECT_GT(8 * measured.flow.sent, 2 * rate_bit_per_s * sending_s) << "takes what the cap allows";
}

TEST(CrossTraffic, PausesBetweenItsTimes) {
  const Measured constant = send({.rate_bit_per_s = rate_bit_per_s});
  const Measured pausing = send({.rate_bit_per_s = rate_bit_per_s, .on_s = 0.1, .off_s = 0.2});
  EXPECT_NEAR(pausing.flow.sent / constant.flow.sent, 1.0 / 3, 0.1);
}

// Without a limit, megabytes would wait in its socket, and be sent during the pause.
TEST(CrossTraffic, AConnectionPausesToo) {
  const Measured constant = send({});
  const Measured pausing = send({.on_s = 0.1, .off_s = 0.2});
  EXPECT_LT(pausing.flow.sent / constant.flow.sent, 0.5);
}

TEST(CrossTraffic, SendsNothingMoreOnceItIsStopped) {
  const Network network(three_switch());
  CrossTraffic traffic(network, {{.from = network.hosts().front().name,
                                  .to = network.hosts().back().name,
                                  .rate_bit_per_s = rate_bit_per_s}});
  traffic.begin();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  traffic.stop();
  const double sent = traffic.bytes().at(0).sent;
  EXPECT_GT(sent, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  traffic.end();
  EXPECT_EQ(traffic.bytes().at(0).sent, sent);
}

TEST(CrossTraffic, StopsWithItsObject) {
  const Network network(three_switch());
  CrossTraffic traffic(network, {{.from = network.hosts().front().name, .to = network.hosts().back().name}});
  traffic.begin();
}

}  // namespace
}  // namespace thinpipe::netem
