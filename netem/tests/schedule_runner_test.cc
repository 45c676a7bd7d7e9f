// Tests networks that change under traffic. (NetworkTest and RoutedNetworkTest run on Debian's kernel too.)
#include "netem/schedule_runner.hh"

#include <atomic>
#include <chrono>
#include <functional>
#include <stop_token>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "common/support/tests/paths.hh"
#include "netem/fidelity/monitor.hh"
#include "netem/kernel/probe.hh"
#include "netem/tests/chances.hh"
#include "netem/topology/tests/topologies.hh"

namespace thinpipe::netem {
namespace {

using namespace std::chrono_literals;

Schedule schedule_of(const Json& config, const Topology& topology) {
  const Place place{"test", ""};
  const auto options = read_options<ScheduleOptions>(config, place);
  return make_schedule(options, place, topology, [](const std::string&, const Place&) {
    return source_path("topologies/traces/100-to-1000.csv");
  });
}

Json events(const std::string& text) {
  return {{"network_events", Json::parse(text)}};
}

Json trace(const std::string& text) {
  return {{"rate_trace", Json::parse(text)}};
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool eventually(const std::function<bool()>& condition, std::chrono::seconds within = 20s) {
  const auto deadline = std::chrono::steady_clock::now() + within;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

// A connection that sends bytes for as long as this object lives, as fast as the network allows.
class Flow {
 public:
  Flow(const Host& from, const Host& to) : connection_(connect_hosts(from, to)) {
    sender_ = std::jthread([this] {
      const std::string chunk(1 << 14, 'x');
      while (::send(connection_.client.get(), chunk.data(), chunk.size(), MSG_NOSIGNAL) > 0) continue;
    });
    receiver_ = std::jthread([this] {
      std::string buffer(1 << 16, '\0');
      for (ssize_t got = 1; got > 0; received_ += static_cast<std::size_t>(std::max<ssize_t>(got, 0))) {
        got = ::recv(connection_.server.get(), buffer.data(), buffer.size(), 0);
      }
      ended_ = true;
    });
  }
  ~Flow() {
    ::shutdown(connection_.client.get(), SHUT_RDWR);
    ::shutdown(connection_.server.get(), SHUT_RDWR);
  }
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  std::size_t received() const { return received_; }
  bool ended() const { return ended_; }

 private:
  Connection connection_;
  std::atomic<std::size_t> received_ = 0;
  std::atomic<bool> ended_ = false;
  std::jthread sender_;
  std::jthread receiver_;
};

TEST(NetworkTest, TheKernelHoldsEachNewRateWithItsBurstAndQueue) {
  const Topology topology = shipped("three-switch");
  Network network(topology);
  for (const double rate : {500e6, 1e6, 123.456e6, 1e9, 100e3, 10e9}) {
    Direction direction = topology.links[8].forward;
    direction.rate_bit_per_s = rate;
    const ShapedDirection changed = network.reshape({8, true}, link_shape_of(direction));
    EXPECT_EQ(changed.name, "left->middle");
    EXPECT_EQ(changed.read_back.rate_bit_per_s, rate);
    EXPECT_NEAR(changed.read_back.burst_bytes, std::max(4000.0, 12.5e-6 * rate), 2 * rate / 8e6 + 1);
    EXPECT_NEAR(changed.read_back.queue_bytes, std::max(16 * 1514.0, 1.25e-3 * rate), 1);
    EXPECT_EQ(changed.read_back.queueing, Queueing::fair);
    EXPECT_EQ(network.shaping()[0].read_back, changed.read_back);
    EXPECT_EQ(network.counters()[0].rate_bit_per_s, rate);
    EXPECT_EQ(network.shaping()[1].read_back.rate_bit_per_s, 100e6) << "the other direction stays";
    EXPECT_EQ(network.counters()[1].rate_bit_per_s, 100e6);
  }
}

TEST(ChangingCapTest, GoodputFollowsIt) {
  const Topology topology = shipped("three-switch");
  Network network(topology);
  const auto goodput = [&] {
    return measure_goodput({{&network.host("w0"), &network.host("w3")}},
                           {.settle_s = 0.3, .measure_s = 0.7})[0];
  };
  const auto set_rate = [&](double rate) {
    Direction direction = topology.links[8].forward;
    direction.rate_bit_per_s = rate;
    network.reshape({8, true}, link_shape_of(direction));
  };
  const auto within = [](double low, double high) {
    return testing::AllOf(testing::Ge(low), testing::Le(high));
  };
  EXPECT_THAT(goodput(), within(50e6, 100e6));
  set_rate(20e6);
  EXPECT_THAT(goodput(), within(10e6, 20e6));
  set_rate(60e6);
  EXPECT_THAT(goodput(), within(30e6, 60e6));
}

// Takes a link down for a while, under a flow from one host to another. `late_bytes` may still leave the
// shaper: a host's own device notices within a second that the port is down, and the bytes sent until then
// are lost.
void expect_an_outage_and_a_survivor(Network& network, std::size_t link, const std::string& from,
                                     const std::string& to, const std::string& direction,
                                     std::uint64_t late_bytes = 0) {
  const auto bytes = [&] {
    for (const LinkCounters& counters : network.counters()) {
      if (counters.name == direction) return counters.bytes;
    }
    ADD_FAILURE() << direction;
    return std::uint64_t{0};
  };
  const Flow flow(network.host(from), network.host(to));
  ASSERT_TRUE(eventually([&] { return flow.received() > 500'000; }));
  network.set_link_up(link, false);
  std::this_thread::sleep_for(200ms);
  const std::uint64_t bytes_then = bytes();
  const std::size_t received_then = flow.received();
  std::this_thread::sleep_for(400ms);
  EXPECT_LE(bytes() - bytes_then, late_bytes) << "nothing leaves the shaper of a link that is down";
  EXPECT_EQ(flow.received(), received_then);
  network.set_link_up(link, true);
  EXPECT_TRUE(eventually([&] { return flow.received() > received_then + 500'000; }))
      << "the connection survives";
  EXPECT_FALSE(flow.ended());
  EXPECT_GT(bytes(), bytes_then);
  EXPECT_NO_THROW(connect_hosts(network.host(to), network.host(from)));
}

TEST(NetworkTest, ALinkThatIsDownCarriesNothingAndConnectionsSurviveIt) {
  Network network(shipped("three-switch"));
  expect_an_outage_and_a_survivor(network, 8, "w0", "w3", "left->middle");
  for (const ShapedDirection& direction : network.shaping()) EXPECT_TRUE(direction.up);
}

TEST(RoutedNetworkTest, ALinkThatIsDownCarriesNothingAndConnectionsSurviveIt) {
  const Topology topology = shipped("ring-of-sites");
  ASSERT_EQ(topology.links[10].a, "site0");
  Network one(topology);
  expect_an_outage_and_a_survivor(one, 10, "w0", "w2", "site0->site1");
  Network another(topology);
  expect_an_outage_and_a_survivor(another, 10, "w2", "w0", "site1->site0");
}

TEST(NetworkTest, AHostsLinkCanGoDownToo) {
  for (const char* const forwarding : {"bridged", "routed"}) {
    const Json description = {{"name", "t"},
                              {"switches", {"s"}},
                              {"hosts", {"a", "b"}},
                              {"forwarding", forwarding},
                              {"links",
                               {{{"between", {"a", "s"}}, {"rate", "50 Mbit/s"}},
                                {{"between", {"b", "s"}}, {"rate", "50 Mbit/s"}}}}};
    // At a cap of 50 Mbit/s, 2.5 MB would pass in the meantime.
    Network one(parse_topology(description, {"t", ""}));
    expect_an_outage_and_a_survivor(one, 0, "a", "b", "a->s", 50'000);
    Network another(parse_topology(description, {"t", ""}));
    expect_an_outage_and_a_survivor(another, 1, "a", "b", "s->b");
  }
}

TEST(NetworkTest, ALinkBetweenHostsCannotGoDown) {
  Network network(parse_topology(
      Json::parse(
          R"({"name": "p", "hosts": ["a", "b"], "links": [{"between": ["a", "b"], "rate": "1 Mbit/s"}]})"),
      {"p", ""}));
  EXPECT_THROW(network.set_link_up(0, false), Error);
}

TEST(ScheduleRunnerTest, EventsHappenWhenTheyAreDueAndAreConfirmedThen) {
  const Topology topology = shipped("three-switch");
  const Schedule schedule = schedule_of(events(R"([
      {"at": "0 s", "link": "left->middle", "rate": "30 Mbit/s"},
      {"at": "10 s", "link": "bottlenecks", "rate": "40 Mbit/s"},
      {"at": "11 s", "link": "middle-right", "state": "down"},
      {"at": "12 s", "link": "middle-right", "state": "up"},
      {"at": "100 s", "link": "left-middle", "rate": "50 Mbit/s"}])"),
                                        topology);
  Network network(topology, schedule);
  ScheduleRunner schedule_runner(network, schedule);
  EXPECT_FALSE(schedule_runner.is_due(now_s() + 1e6)) << "training has not begun";
  const double began = now_s();
  schedule_runner.begin(began);
  EXPECT_EQ(schedule_runner.apply_due(began), 1U);
  EXPECT_EQ(schedule_runner.apply_due(began), 0U);
  EXPECT_EQ(network.shaping()[0].read_back.rate_bit_per_s, 30e6);
  EXPECT_EQ(network.shaping()[1].read_back.rate_bit_per_s, 100e6);
  EXPECT_FALSE(schedule_runner.is_due(began + 9.99));
  EXPECT_EQ(schedule_runner.apply_due(began + 11.5), 2U);
  for (const ShapedDirection& direction : network.shaping())
    EXPECT_EQ(direction.read_back.rate_bit_per_s, 40e6);
  EXPECT_TRUE(network.shaping()[0].up);
  EXPECT_FALSE(network.shaping()[2].up);
  EXPECT_FALSE(network.shaping()[3].up);
  EXPECT_EQ(schedule_runner.apply_due(began + 12), 1U);
  EXPECT_TRUE(network.shaping()[2].up);

  const std::vector<NetworkChange>& changes = schedule_runner.changes();
  ASSERT_EQ(changes.size(), 4U);
  EXPECT_EQ(changes[1].at_s, 10);
  EXPECT_EQ(changes[1].held.size(), 4U);
  double before_s = 0;
  for (const NetworkChange& change : changes) {
    ASSERT_TRUE(change.confirmed_s);
    EXPECT_GT(*change.confirmed_s, before_s);
    before_s = *change.confirmed_s;
  }
  const Json first = to_json(changes[0]);
  EXPECT_EQ(first["requested"], Json({{"rate_bit_per_s", 30e6}}));
  EXPECT_EQ(first["applied"]["left->middle"]["rate_bit_per_s"], 30e6);
  EXPECT_EQ(first["source"], "event");
  EXPECT_EQ(to_json(changes[2])["applied"], Json({{"state", "down"}}));
  ASSERT_EQ(schedule_runner.missed().size(), 1U);
  EXPECT_EQ(schedule_runner.missed()[0].at_s, 100);
  EXPECT_EQ(schedule_runner.missed()[0].place.pointer, "/network_events/4");
  EXPECT_TRUE(to_json(schedule_runner.missed()[0])["confirmed_s"].is_null());
}

TEST(ScheduleRunnerTest, ATraceIsReplayedAgainAndAgain) {
  const Topology topology = shipped("three-switch");
  const Schedule schedule = schedule_of(
      trace(R"({"link": "left-middle", "file": "any", "period": "48 s", "clock": "wall"})"), topology);
  Network network(topology, schedule);
  ScheduleRunner schedule_runner(network, schedule);
  const double began = now_s();
  schedule_runner.begin(began);
  EXPECT_EQ(schedule_runner.apply_due(began + 1.9), 1U);
  EXPECT_EQ(schedule_runner.apply_due(began + 47.9), 23U);
  EXPECT_EQ(network.shaping()[0].read_back.rate_bit_per_s, 150e6);
  EXPECT_EQ(schedule_runner.apply_due(began + 50.5), 2U) << "the second cycle";
  EXPECT_EQ(network.shaping()[0].read_back.rate_bit_per_s, 250e6);
  EXPECT_EQ(network.shaping()[2].read_back.rate_bit_per_s, 100e6) << "the other link stays as it was";
  EXPECT_EQ(schedule_runner.changes().back().at_s, 50);
  EXPECT_TRUE(schedule_runner.changes().back().traced);
  EXPECT_TRUE(schedule_runner.missed().empty()) << "the steps of a trace are never missed";
}

// The step of the trace follows train time, the event the clock.
TEST(ScheduleRunnerTest, ATraceByTrainTimeStandsStillWhileNoIterationRuns) {
  const Topology topology = shipped("three-switch");
  Json config = trace(R"({"link": "left-middle", "file": "any"})");
  config.update(events(R"([{"at": "3 s", "link": "middle-right", "rate": "20 Mbit/s"}])"));
  const Schedule schedule = schedule_of(config, topology);
  Network network(topology, schedule);
  ScheduleRunner schedule_runner(network, schedule);
  const double began = now_s();
  schedule_runner.train_clock().run(0, began - 100);
  EXPECT_FALSE(schedule_runner.is_due(began)) << "training has not begun";
  schedule_runner.train_clock().stop(0);
  schedule_runner.begin(began);
  EXPECT_EQ(schedule_runner.apply_due(began + 2.5), 1U) << "its first step";
  EXPECT_EQ(network.shaping()[0].read_back.rate_bit_per_s, 100e6);
  schedule_runner.train_clock().run(0, began + 2.5);
  EXPECT_EQ(schedule_runner.apply_due(began + 4.25), 1U) << "the event";
  EXPECT_EQ(network.shaping()[2].read_back.rate_bit_per_s, 20e6);
  schedule_runner.train_clock().stop(1.875);
  EXPECT_FALSE(schedule_runner.is_due(began + 1000)) << "during an evaluation";
  schedule_runner.train_clock().run(1.875, began + 1000);
  EXPECT_EQ(schedule_runner.apply_due(began + 1000.25), 1U);
  EXPECT_EQ(network.shaping()[0].read_back.rate_bit_per_s, 250e6);

  const std::vector<NetworkChange>& changes = schedule_runner.changes();
  ASSERT_EQ(changes.size(), 3U);
  const Json event = to_json(changes[1]);
  EXPECT_EQ(event["clock"], "wall");
  EXPECT_EQ(event["at_s"], 3);
  const Json step = to_json(changes[2]);
  EXPECT_EQ(step["clock"], "train");
  EXPECT_EQ(step["at_s"], 2);
  EXPECT_EQ(step["source"], "trace");
  EXPECT_TRUE(step["confirmed_train_time_s"].is_number());
}

TEST(ScheduleRunnerTest, TrainTimeThatIsSetBackTakesTheTraceWithIt) {
  const Topology topology = shipped("three-switch");
  const Schedule schedule =
      schedule_of(trace(R"({"link": "left-middle", "file": "any", "period": "48 s"})"), topology);
  Network network(topology, schedule);
  ScheduleRunner schedule_runner(network, schedule);
  const double began = now_s();
  schedule_runner.begin(began);
  const auto rate = [&] { return network.shaping()[0].read_back.rate_bit_per_s; };
  schedule_runner.set_back(0);
  EXPECT_EQ(schedule_runner.apply_due(began), 1U) << "nothing was applied before";
  schedule_runner.set_back(0);
  EXPECT_FALSE(schedule_runner.is_due(began)) << "nothing else is due yet";
  schedule_runner.train_clock().run(46.5, began);
  EXPECT_EQ(schedule_runner.apply_due(began + 4), 25U);
  EXPECT_EQ(schedule_runner.changes().back().at_s, 50) << "in the second cycle";
  EXPECT_EQ(rate(), 250e6);
  schedule_runner.set_back(50);
  EXPECT_FALSE(schedule_runner.is_due(began + 1000));
  schedule_runner.set_back(46.5);
  EXPECT_EQ(schedule_runner.apply_due(began + 1000), 1U);
  EXPECT_EQ(schedule_runner.changes().back().at_s, 46);
  EXPECT_EQ(rate(), 150e6);
  schedule_runner.train_clock().run(46.5, began + 1000);
  EXPECT_FALSE(schedule_runner.is_due(began + 1001.4));
  EXPECT_EQ(schedule_runner.apply_due(began + 1001.6), 1U);
  EXPECT_EQ(rate(), 100e6);
}

TEST(ScheduleRunnerTest, AveragesTheCapOfATraceByTrainTimeOverTrainTime) {
  const Topology topology = shipped("three-switch");
  const Schedule schedule = schedule_of(trace(R"({"link": "left-middle", "file": "any"})"), topology);
  Network network(topology, schedule);
  ScheduleRunner schedule_runner(network, schedule);
  const double began = now_s();
  schedule_runner.begin(began);
  schedule_runner.apply_due(began);
  schedule_runner.train_clock().stop(2);
  schedule_runner.apply_due(began);
  schedule_runner.train_clock().stop(3);
  // Two seconds of 100 Mbit/s and one of 250, however long the evaluations took.
  EXPECT_NEAR(schedule_runner.mean_rate_bit_per_s(0, began, began + 1000), 150e6, 1);
  EXPECT_EQ(schedule_runner.mean_rate_bit_per_s(2, began, began + 1000), 100e6)
      << "it does not follow the trace";
}

TEST(ScheduleRunnerTest, AveragesTheCap) {
  const Topology topology = shipped("three-switch");
  const Schedule schedule = schedule_of(events(R"([{"at": "0 s", "link": "left->middle", "rate": "20 Mbit/s"},
                                                   {"at": "0 s", "link": "middle-right", "state": "down"}])"),
                                        topology);
  Network network(topology, schedule);
  ScheduleRunner schedule_runner(network, schedule);
  const double began = now_s();
  schedule_runner.begin(began);
  schedule_runner.apply_due(began);
  // Half of the time, before the change, at 100 Mbit/s; the other half at 20.
  const double changed = began + *schedule_runner.changes().front().confirmed_s;
  EXPECT_NEAR(schedule_runner.mean_rate_bit_per_s(0, changed - 100, changed + 100), 60e6, 0.1e6);
  EXPECT_NEAR(schedule_runner.mean_rate_bit_per_s(0, changed + 1, changed + 3), 20e6, 1);
  EXPECT_EQ(schedule_runner.mean_rate_bit_per_s(1, changed - 100, changed + 100), 100e6);
  EXPECT_NEAR(schedule_runner.mean_rate_bit_per_s(2, changed - 100, changed + 100), 50e6, 0.1e6);
}

// Flows over a link whose rate changes every 400 ms. `told`: whether the sampler announces the changes to the
// monitor.
Fidelity watch_changes(bool told) {
  const Topology topology = shipped("three-switch");
  Network network(topology);
  Monitor monitor(network);
  {
    const Host& from = network.host("w0");
    const Host& to = network.host("w3");
    const Flow first(from, to);
    const Flow second(from, to);
    double rate = 100e6;
    double next_s = now_s() + 0.4;
    for (int changes = 0; changes < 6;) {
      std::this_thread::sleep_for(Monitor::sampling_period);
      monitor.sample();
      if (now_s() < next_s) continue;
      next_s += 0.4;
      ++changes;
      rate = rate == 100e6 ? 30e6 : 100e6;
      const auto change = [&] {
        Direction direction = topology.links[8].forward;
        direction.rate_bit_per_s = rate;
        network.reshape({8, true}, link_shape_of(direction));
      };
      if (told) {
        monitor.around(change);
      } else {
        change();
      }
    }
  }
  return monitor.verdict();
}

TEST(MonitorTest, EachMomentIsJudgedByTheRateOfThatMoment) {
  Fidelity fidelity;
  Chances chances;
  while (fidelity.verdict != "faithful" && chances.left()) fidelity = watch_changes(true);
  if (chances.undecided()) GTEST_SKIP() << chances.reason() << ": " << to_json(fidelity).dump(1);
  EXPECT_EQ(fidelity.verdict, "faithful") << to_json(fidelity).dump(1);
  EXPECT_EQ(fidelity.checks[0].name, "shaper left->middle");
  EXPECT_THAT(fidelity.checks[0].note, testing::HasSubstr("changed later"));
  EXPECT_TRUE(fidelity.checks[1].measured.is_number()) << to_json(fidelity).dump(1);
}

TEST(MonitorTest, ARateThatChangesUnaskedIsDegraded) {
  EXPECT_EQ(watch_changes(false).verdict, "degraded");
}

TEST(MonitorTest, TheTimeInWhichALinkIsDownIsNotJudged) {
  Network network(shipped("three-switch"));
  Monitor monitor(network);
  monitor.around([&] { network.set_link_up(8, false); });
  for (int i = 0; i < 60; ++i) {
    std::this_thread::sleep_for(Monitor::sampling_period);
    monitor.sample();
  }
  monitor.around([&] { network.set_link_up(8, true); });
  const Fidelity fidelity = monitor.verdict();
  EXPECT_EQ(fidelity.verdict, "faithful") << to_json(fidelity).dump(1);
  EXPECT_THAT(fidelity.checks.back().note, testing::HasSubstr("links went down"));
}

}  // namespace
}  // namespace thinpipe::netem
