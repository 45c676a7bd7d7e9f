// SPDX-License-Identifier: Apache-2.0
#include "netem/network.hh"

#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/support/child_process.hh"
#include "netem/fidelity/monitor.hh"
#include "netem/kernel/ip_routes.hh"
#include "netem/kernel/kernel_features.hh"
#include "netem/kernel/link.hh"
#include "netem/kernel/probe.hh"
#include "netem/topology/tests/topologies.hh"
#include "netem/topology/topology_format.hh"
#include "netem/topology/topology_settings.hh"

namespace thinpipe::netem {
namespace {

// Returns the names of the devices in the namespace that `fd` holds.
std::vector<std::string> devices_in(int fd) {
  std::vector<std::string> names;
  std::thread([&] {
    system_call("enter a network namespace", ::setns(fd, CLONE_NEWNET));
    const NetlinkSocket socket;
    nl_cache* filled = nullptr;
    netlink_call("list devices", rtnl_link_alloc_cache(socket.get(), AF_UNSPEC, &filled));
    const OwnedCache cache(filled);
    for (nl_object* link = nl_cache_get_first(cache.get()); link != nullptr; link = nl_cache_get_next(link)) {
      names.emplace_back(rtnl_link_get_name(reinterpret_cast<rtnl_link*>(link)));
    }
  }).join();
  return names;
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

// Returns the output of a shell command inside a host.
std::string in_host(const Host& host, const std::string& command) {
  Pipe output = Pipe::create();
  ChildProcess shell({.arguments = {"/bin/sh", "-c", command},
                      .standard_output = output.write_end.get(),
                      .before_exec = [&] { host.enter(); }});
  output.write_end.reset();
  std::string text = read_to_end(output.read_end, "read the output of a shell");
  EXPECT_TRUE(shell.wait().ok()) << command;
  return text;
}

int largest_tcp_segment(const FileDescriptor& socket) {
  int bytes = 0;
  socklen_t length = sizeof bytes;
  system_call("read TCP_MAXSEG", getsockopt(socket.get(), IPPROTO_TCP, TCP_MAXSEG, &bytes, &length));
  return bytes;
}

// Islands of three, two and three hosts: address blocks of every kind.
TEST(NetworkTest, PacketsAreLargeWhereNoCapIsOnTheWayAndFullFramesElsewhere) {
  const Network network(three_switch());
  const auto island = [](std::size_t host) { return host < 3 ? 0 : host < 5 ? 1 : 2; };
  for (std::size_t from = 0; from < 8; ++from) {
    for (std::size_t to = 0; to < 8; ++to) {
      if (from == to) continue;
      const Connection connection = connect_hosts(network.hosts()[from], network.hosts()[to]);
      for (const FileDescriptor* socket : {&connection.client, &connection.server}) {
        if (island(from) == island(to)) {
          // At first TCP sends at most half the window of 64 KiB at once.
          EXPECT_GE(largest_tcp_segment(*socket), 32000) << from << " to " << to;
        } else {
          EXPECT_EQ(largest_tcp_segment(*socket), 1448) << from << " to " << to;
        }
      }
    }
  }
}

TEST(NetworkTest, HostsFollowTheTopologysOrder) {
  const Network network(three_switch());
  ASSERT_EQ(network.hosts().size(), 8U);
  EXPECT_EQ(network.hosts()[0].name, "w0");
  EXPECT_EQ(network.hosts()[0].address, "10.77.0.1");
  EXPECT_EQ(network.host("w7").address, "10.77.0.8");
  EXPECT_THROW(network.host("w8"), Error);
}

TEST(NetworkTest, TearingDownLeavesNoDeviceAndNoDescriptor) {
  const std::size_t before = open_descriptors();
  std::vector<FileDescriptor> held;
  {
    const Network network(three_switch());
    for (const Host& host : network.hosts()) {
      held.emplace_back(system_call("copy a descriptor", ::dup(host.network_namespace->fd())));
      EXPECT_THAT(devices_in(held.back().get()), testing::UnorderedElementsAre("lo", "eth0"));
    }
  }
  for (const FileDescriptor& fd : held) EXPECT_THAT(devices_in(fd.get()), testing::ElementsAre("lo"));
  held.clear();
  EXPECT_EQ(open_descriptors(), before);
  const FileDescriptor own = FileDescriptor::open("/proc/self/ns/net", O_RDONLY);
  EXPECT_THAT(devices_in(own.get()), testing::ElementsAre("lo"));
}

TEST(NetworkTest, NetworksStandSideBySide) {
  const Network first(three_switch());
  const Network second(three_switch());
  EXPECT_EQ(second.counters().size(), first.counters().size());
}

TEST(NetworkTest, TheKernelHoldsTheShapeThatWasAsked) {
  // At some of these rates the burst is not a whole number of microseconds.
  for (const double rate : {1e6, 30e6, 100e6, 123.456e6, 500e6, 1e9, 10e9}) {
    const Network network(three_switch(rate));
    const std::vector<ShapedDirection> shaping = network.shaping();
    ASSERT_EQ(shaping.size(), 4U);
    EXPECT_EQ(shaping[0].name, "left->middle");
    EXPECT_EQ(shaping[3].name, "right->middle");
    for (const ShapedDirection& direction : shaping) {
      EXPECT_EQ(direction.read_back.rate_bit_per_s, rate);
      EXPECT_NEAR(direction.read_back.burst_bytes, direction.asked.burst_bytes, 2 * rate / 8e6 + 1);
      EXPECT_NEAR(direction.read_back.queue_bytes, direction.asked.queue_bytes, 1);
      EXPECT_EQ(direction.read_back.queueing, Queueing::fair);
    }
  }
}

TEST(NetworkTest, SocketsUseCubicWhateverTheMachinesDefault) {
  EXPECT_EQ(Network(three_switch()).congestion_control(), "cubic");
}

TEST(NetworkTest, SocketsUseTheCongestionControlOfTheTopology) {
  for (const std::string& name : usable_congestion_controls()) {
    Topology topology = three_switch();
    topology.congestion_control = name;
    EXPECT_EQ(Network(topology).congestion_control(), name);
  }
}

TEST(NetworkTest, SingleHostsUseACongestionControlOfTheirOwn) {
  Topology topology = three_switch();
  set_congestion_control(topology, {{"default", "cubic"}, {"w1", "reno"}, {"w7", "reno"}}, {"test", ""});
  const Network network(topology);
  EXPECT_EQ(network.congestion_control(), "cubic, w1: reno, w7: reno");
  EXPECT_TRUE(network.has_congestion_control());
  // w0 and w2 are on w1's switch: another route, for large packets.
  for (const char* const other : {"w0", "w2", "w4"}) {
    const Connection connection = connect_hosts(network.host("w1"), network.host(other));
    EXPECT_EQ(congestion_control(connection.client), "reno") << other;
    EXPECT_EQ(congestion_control(connection.server), "cubic") << other;
  }
}

TEST(NetworkTest, ACongestionControlThatTheKernelLacksIsNamedBesideThoseThatItHas) {
  Topology topology = three_switch();
  topology.congestion_control = "nonsense";
  try {
    check_kernel(topology);
    ADD_FAILURE() << "no kernel has it";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("the congestion control nonsense"),
                                             testing::HasSubstr("cubic"), testing::HasSubstr("reno")));
  }
}

TEST(NetworkTest, EveryHostReachesEveryOther) {
  const Network network(three_switch());
  for (const Host& from : network.hosts()) {
    for (const Host& to : network.hosts()) {
      if (&from == &to) continue;
      EXPECT_NO_THROW(connect_hosts(from, to));
    }
  }
}

TEST(NetworkTest, HostsThatDoNotAnswerInTimeAreNamed) {
  Network network(parse_topology(
      {{"name", "pair"},
       {"switches", {"s"}},
       {"hosts", {"a", "b"}},
       {"links", {{{"between", {"a", "s"}}}, {{"between", {"s", "b"}}, {"rate", "100 Mbit/s"}}}}},
      {"pair", ""}));
  network.set_link_up(1, false);
  try {
    connect_hosts(network.host("a"), network.host("b"));
    FAIL() << "connected over a link that is down";
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("connect a to b: no answer within 5 s"));
  }
}

TEST(NetworkTest, HostsHaveIpv6OffAndFixedNeighbours) {
  const Network network(three_switch());
  const Host& host = network.host("w4");
  EXPECT_EQ(in_host(host, "cat /proc/net/if_inet6 2>/dev/null | wc -l"), "0\n");
  // Seven permanent entries (flag 0x4), each with the hardware address derived from the host's number.
  EXPECT_EQ(in_host(host, "grep -c '0x6 *02:00:0a:4d:00' /proc/net/arp"), "7\n");
}

TEST(NetworkTest, HostsOnlyAgreeToEcnUnlessALinkMarksFrames) {
  const Network network(three_switch());
  EXPECT_EQ(in_host(network.host("w4"), "cat /proc/sys/net/ipv4/tcp_ecn"), "2\n");
}

TEST(NeighboursTest, ARequestThatTheKernelRefusesIsNotLostInTheCrowd) {
  const NetworkNamespace place;
  place.run([] {
    const NetlinkSocket socket;
    add_bridge(socket, "any", first_ifindex);
    Neighbours(first_ifindex, 2).add(socket, 0);
    try {
      Neighbours(first_ifindex, 3000).add(socket, 2);
      ADD_FAILURE() << "one of them exists";
    } catch (const NetlinkError& error) {
      EXPECT_EQ(error.code(), -NLE_EXIST) << error.what();
      EXPECT_THAT(error.what(), testing::HasSubstr("10.77.0.3"));
    }
  });
}

TEST(RoutedNetworkTest, EveryHostReachesEveryOther) {
  const Network network(shipped("fat-tree"));
  for (const Host& from : network.hosts()) {
    for (const Host& to : network.hosts()) {
      if (&from == &to) continue;
      EXPECT_NO_THROW(connect_hosts(from, to));
    }
  }
  EXPECT_EQ(network.congestion_control(), "cubic");
  EXPECT_EQ(network.frames_lost_outside_queues(), 0U);
}

TEST(RoutedNetworkTest, FramesTakeTheRoutesAndNoOthers) {
  const Topology topology = shipped("ring-of-sites");
  const Network network(topology);
  const std::vector<LinkCounters> before = network.counters();
  const Connection connection = connect_hosts(network.host("w1"), network.host("w4"));
  constexpr std::size_t payload = 200'000;
  std::jthread sender([&] { write_all(connection.client, std::string(payload, 'x'), "send"); });
  std::string buffer(1 << 16, '\0');
  for (std::size_t got = 0; got < payload;) {
    got += static_cast<std::size_t>(
        system_call("receive", ::recv(connection.server.get(), buffer.data(), buffer.size(), 0)));
  }
  const std::vector<LinkCounters> after = network.counters();
  ASSERT_EQ(after.size(), 10U);
  for (std::size_t i = 0; i < after.size(); ++i) {
    const std::uint64_t bytes = after[i].bytes - before[i].bytes;
    const bool there = after[i].name == "site0->site1" || after[i].name == "site1->site2";
    const bool back = after[i].name == "site1->site0" || after[i].name == "site2->site1";
    if (there) {
      EXPECT_GE(static_cast<double>(bytes), payload / goodput_of_cap) << after[i].name;
    } else if (back) {
      EXPECT_GT(bytes, 0U) << after[i].name << ": acknowledgements";
    } else {
      EXPECT_EQ(bytes, 0U) << after[i].name;
    }
  }
}

TEST(RoutedNetworkTest, HostsKnowTheirRouterAlone) {
  const Network network(shipped("ring-of-sites"));
  EXPECT_EQ(in_host(network.host("w4"), "tail -n +2 /proc/net/arp | grep -c '^10.78.0.1 .*0x6 *02:01:0a:4d'"),
            "1\n");
  EXPECT_EQ(in_host(network.host("w4"), "tail -n +2 /proc/net/arp | wc -l"), "1\n");
}

TEST(RoutedNetworkTest, TearingDownLeavesNoDescriptor) {
  const std::size_t before = open_descriptors();
  { const Network network(shipped("fat-tree")); }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(NetworkTest, EveryShippedTopologyCanBeBuilt) {
  for (const char* const name : {"star", "two-rack", "dumbbell"}) {
    const Topology topology = shipped(name);
    const Network network(topology);
    EXPECT_NO_THROW(connect_hosts(network.hosts().front(), network.hosts().back())) << name;
  }
}

TEST(NetworkTest, DirectionsHaveCapsOfTheirOwn) {
  const Json description = Json::parse(R"({"name": "home", "hosts": ["a", "b"], "links": [
      {"between": ["a", "b"], "rate": "20 Mbit/s", "backward": {"rate": "300 Mbit/s"}}]})");
  const Network network(parse_topology(description, {"home", ""}));
  EXPECT_EQ(network.shaping().at(0).read_back.rate_bit_per_s, 20e6);
  EXPECT_EQ(network.shaping().at(1).read_back.rate_bit_per_s, 300e6);
}

TEST(NetworkTest, CountersShowWhatCrossedTheLink) {
  const Network network(three_switch());
  const std::vector<LinkCounters> before = network.counters();
  const Connection connection = connect_hosts(network.host("w0"), network.host("w3"));
  constexpr std::size_t payload = 4'000'000;
  std::jthread sender([&] { write_all(connection.client, std::string(payload, 'x'), "send"); });
  std::string buffer(1 << 16, '\0');
  for (std::size_t got = 0; got < payload;) {
    got += static_cast<std::size_t>(
        system_call("receive", ::recv(connection.server.get(), buffer.data(), buffer.size(), 0)));
  }
  const std::vector<LinkCounters> after = network.counters();
  const auto forth = static_cast<double>(after[0].bytes - before[0].bytes);
  const double least = payload / goodput_of_cap;
  EXPECT_GE(forth, least);
  EXPECT_LE(forth, 1.01 * least);  // a few short frames and retransmissions
  EXPECT_NEAR(static_cast<double>(after[0].packets - before[0].packets), payload / 1448.0, 100);
  EXPECT_LT(after[1].bytes - before[1].bytes, payload / 10) << "acknowledgements only";
  EXPECT_LT(after[2].bytes - before[2].bytes, 1000U) << "the other bottleneck is not on the path";
  EXPECT_GT(after[0].time_s, before[0].time_s);
}

class QueueingTest : public testing::TestWithParam<Queueing> {};

TEST_P(QueueingTest, FullQueuesDropAndNothingElseLosesFrames) {
  Topology topology = three_switch(10e6);
  for (Link& link : topology.links) {
    for (Direction* const direction : {&link.forward, &link.backward}) {
      if (link.bottleneck) direction->queueing = GetParam();
    }
  }
  const Network network(topology);
  EXPECT_EQ(network.shaping()[0].read_back.queueing, GetParam());
  // Four times the link's rate: 400 x 1042 bytes arrive in 80 ms, in which the link sends and holds 130 kB.
  const int lost = measure_loss(network.host("w0"), network.host("w3"),
                                {.count = 400, .payload_bytes = 1000, .rate_bit_per_s = 40e6});
  EXPECT_GT(lost, 100);
  const LinkCounters counters = network.counters()[0];
  EXPECT_EQ(counters.drops, static_cast<std::uint64_t>(lost));
  EXPECT_EQ(counters.full_queue_drops, counters.drops);
  EXPECT_EQ(network.frames_lost_outside_queues(), 0U);
}

INSTANTIATE_TEST_SUITE_P(NetworkTest, QueueingTest, testing::Values(Queueing::fifo, Queueing::fair),
                         [](const auto& queueing) { return name_of(queueing.param); });

TEST(HostTest, SharedMemoryAndIpcArePrivate) {
  const Network network(three_switch());
  const std::string own_file = "/dev/shm/netem-test-" + std::to_string(::getpid());
  EXPECT_EQ(in_host(network.host("w0"), "ls -A /dev/shm; echo x > " + own_file + " && ls /dev/shm | wc -l"),
            "1\n");
  EXPECT_EQ(in_host(network.host("w1"), "ls -A /dev/shm"), "");
  EXPECT_FALSE(std::filesystem::exists(own_file));
  const std::string ask = "readlink /proc/self/ns/ipc /proc/self/ns/net";
  EXPECT_NE(in_host(network.host("w0"), "readlink /proc/self/ns/ipc"), in_host(network.host("w1"), ask));
  EXPECT_NE(in_host(network.host("w0"), "readlink /proc/self/ns/ipc"),
            std::filesystem::read_symlink("/proc/self/ns/ipc").string() + "\n");
}

TEST(NetworkTest, LoopbackNeedsNothingOfTheKernel) {
  const Network network(shipped("loopback"));
  EXPECT_EQ(network.hosts()[1].address, "127.0.0.1");
  EXPECT_TRUE(network.counters().empty());
  network.hosts()[1].enter();
  Monitor monitor(network);
  EXPECT_EQ(monitor.verdict().verdict, "faithful");
}

TEST(NetworkTest, LinksOfHostsCanBeShapedToo) {
  const Json description = Json::parse(R"({"name": "pair", "hosts": ["a", "b"],
      "links": [{"between": ["a", "b"], "rate": "50 Mbit/s"}]})");
  const Network network(parse_topology(description, {"pair", ""}));
  ASSERT_EQ(network.counters().size(), 2U);
  EXPECT_EQ(network.counters()[1].name, "b->a");
  EXPECT_GT(network.counters()[0].bytes, 0U) << "the connection that the constructor makes";
}

}  // namespace
}  // namespace thinpipe::netem
