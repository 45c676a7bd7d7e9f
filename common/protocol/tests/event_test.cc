// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/event.hh"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe {
namespace {

std::string refusal_of_event(const Json& event) {
  try {
    parse_event(event);
  } catch (const InvalidEvent& error) {
    return error.what();
  }
  return "accepted";
}

const event::IterationTimes example_times = {.train_time_s = 1.5,
                                             .iteration_time_s = 0.5,
                                             .load_s = 0.01,
                                             .compute_s = 0.2,
                                             .encode_s = 0.02,
                                             .exchange_s = 0.25,
                                             .decode_s = 0.03,
                                             .exposed_exchange_s = 0.1,
                                             .first_bucket_s = 0.05,
                                             .cpu_s = 0.3};

// One event of each kind.
const std::vector<Event> examples = {
    event::Started{.pid = 7, .libraries = {{"libtorch", "1.13.0"}}},
    event::Dataset{.hash = "00ff", .examples_per_worker = {3, 1}},
    event::Heartbeat{.iteration = 3, .phase = "compute_emulation"},
    event::Resumed{.iteration = 10, .train_time_s = 2.5},
    event::IterationStarted{.iteration = 3, .train_time_s = 1, .monotonic_s = 12345.678},
    event::WorkerTimes{.iterations = {{.iteration = 3,
                                       .monotonic_s = 12345.678,
                                       .iteration_time_s = 0.5,
                                       .compute_s = 0.2,
                                       .exposed_exchange_s = 0.1},
                                      {.iteration = 4, .monotonic_s = 12346, .iteration_time_s = 0.25}}},
    event::Iteration{.iteration = 3,
                     .epoch = 0.25,
                     .times = example_times,
                     .train_loss = 2.25,
                     .applied = false,
                     .payload_bytes = 1000,
                     .sent_bytes = 1750.5,
                     .delivered_bytes = 900},
    event::Evaluation{.iteration = 0,
                      .epoch = 0,
                      .train_time_s = 0,
                      .train_loss = {},
                      .test_loss = -3.5,
                      .test_accuracy = 1},
    event::Summary{.parameters = 250,
                   .pruning = {{"density", 0.5}},
                   .synchroniser = Json::object(),
                   .effective_density = 1.25,
                   .vnmse = 0,
                   .encode_cpu_s = 0.25,
                   .decode_cpu_s = 0.5,
                   .skipped_steps = 1,
                   .parameters_hash = "00ff"},
    event::Finished{.peak_memory_bytes = 1000000},
    event::Interrupted{.iteration = 12},
    event::Failed{.kind = "non_finite", .message = "the loss is not finite"},
    event::Pretraining{.iteration = 1, .iterations = 2, .train_loss = 1.5},
    event::Pretrained{.test_accuracy = 0.25, .train_time_s = 1.5},
    event::Replaying{},
    event::ReplayedIteration{.iteration = 1,
                             .represents_first_step = true,
                             .times = example_times,
                             .payload_bytes = 10,
                             .sent_bytes = 17.5},
    event::Replayed{
        .classes = {{.steps = 9, .iterations = 3, .mean_s = 0.5, .half_width_s = 0.125}, {.steps = 1}}},
    event::MeasuredNetwork{.node = "node-7",
                           .network_interface = "eth0",
                           .address = "10.0.0.7",
                           .connected_bit_per_s = 1e10,
                           .pairs_at_a_time = 4,
                           .received_bit_per_s = {0, 9.5e7},
                           .round_trips_s = {0, 0.002},
                           .sent_bytes_before = 1,
                           .received_bytes_before = 2,
                           .sent_bytes_after = 3,
                           .received_bytes_after = 4},
    event::Other{.content = {{"event", "sketched"}, {"columns", -5}}}};

const Event& example_of(std::string_view name) {
  for (const Event& event : examples) {
    if (to_json(event).at("event") == name) return event;
  }
  throw Error(std::string(name));
}

// Returns the example of this kind with other values in some members.
Json changed(std::string_view name, const Json& members) {
  Json out = to_json(example_of(name));
  out.update(members);
  return out;
}

Json without(std::string_view name, const std::string& member) {
  Json out = to_json(example_of(name));
  out.erase(member);
  return out;
}

TEST(Event, OfEveryKindIsReadAsItWasWritten) {
  ASSERT_EQ(examples.size(), std::variant_size_v<Event>);
  for (std::size_t i = 0; i < examples.size(); ++i) {
    EXPECT_EQ(examples[i].index(), i);
    const std::string line = to_json(examples[i]).dump();
    EXPECT_TRUE(parse_event(Json::parse(line)) == examples[i]) << line;
  }
}

TEST(Event, HasTheMembersOfTheProtocol) {
  EXPECT_EQ(to_json(example_of("iteration")),
            Json::parse(R"({"event": "iteration", "iteration": 3, "epoch": 0.25, "train_time_s": 1.5,
                            "iteration_time_s": 0.5, "load_s": 0.01, "compute_s": 0.2, "encode_s": 0.02,
                            "exchange_s": 0.25, "decode_s": 0.03, "exposed_exchange_s": 0.1,
                            "first_bucket_s": 0.05, "cpu_s": 0.3, "train_loss": 2.25,
                            "applied": false, "payload_bytes": 1000, "sent_bytes": 1750.5,
                            "delivered_bytes": 900})"));
  EXPECT_EQ(to_json(event::Heartbeat{.iteration = 1, .phase = "evaluating"}),
            Json::parse(R"({"event": "heartbeat", "iteration": 1, "phase": "evaluating"})"));
  EXPECT_EQ(to_json(event::Summary{}),
            Json::parse(R"({"event": "summary", "parameters": null, "pruning": null, "synchroniser": null,
                            "effective_density": null, "vnmse": null, "encode_cpu_s": null,
                            "decode_cpu_s": null, "skipped_steps": null, "parameters_hash": null})"));
  EXPECT_EQ(to_json(event::Replayed{.classes = {{.steps = 9, .iterations = 3, .mean_s = 0.5}}}),
            Json::parse(R"({"event": "replayed", "classes": [
                            {"steps": 9, "iterations": 3, "mean_s": 0.5, "ci95_half_width_s": null}]})"));
  EXPECT_EQ(to_json(event::WorkerTimes{
                .iterations = {{.iteration = 4, .monotonic_s = 8, .iteration_time_s = 0.25}}}),
            Json::parse(R"({"event": "worker_times", "iterations": [{"iteration": 4, "monotonic_s": 8.0,
                            "iteration_time_s": 0.25, "compute_s": null, "exposed_exchange_s": null}]})"));
  EXPECT_TRUE(to_json(event::Iteration{.train_loss = NAN}).at("train_loss").is_null());
}

TEST(Event, MembersThatATrainerMayOmitHaveDefaults) {
  EXPECT_TRUE(parse_event({{"event", "started"}, {"pid", 7}}) == Event(event::Started{.pid = 7}));
  EXPECT_TRUE(parse_event({{"event", "summary"}}) == Event(event::Summary{}));
  EXPECT_TRUE(parse_event({{"event", "finished"}}) == Event(event::Finished{}));
  Json short_iteration = to_json(example_of("iteration"));
  for (const char* member : {"first_bucket_s", "train_loss", "applied", "delivered_bytes"})
    short_iteration.erase(member);
  const auto iteration = std::get<event::Iteration>(parse_event(short_iteration));
  EXPECT_EQ(iteration.times->first_bucket_s, std::nullopt);
  EXPECT_EQ(iteration.train_loss, std::nullopt);
  EXPECT_TRUE(iteration.applied);
  EXPECT_EQ(iteration.delivered_bytes, std::nullopt);
}

TEST(Event, EveryOtherMemberIsRequired) {
  EXPECT_EQ(refusal_of_event(without("iteration", "payload_bytes")),
            "reported an event \"iteration\" without \"payload_bytes\"");
  const std::map<std::string, std::vector<std::string>> omissible = {
      {"started", {"libraries"}},
      {"dataset", {"examples_per_worker"}},
      {"pretrained", {"train_time_s"}},
      {"iteration", {"first_bucket_s", "train_loss", "applied", "delivered_bytes"}},
      {"summary",
       {"parameters", "pruning", "synchroniser", "effective_density", "vnmse", "encode_cpu_s", "decode_cpu_s",
        "skipped_steps", "parameters_hash"}},
      {"finished", {"peak_memory_bytes"}},
      {"replayed_iteration", {"first_bucket_s", "represents_first_step"}}};
  for (const Event& event : examples) {
    const Json whole = to_json(event);
    if (std::holds_alternative<event::Other>(event)) continue;
    const std::string name = whole.at("event");
    for (const auto& member : whole.items()) {
      if (member.key() == "event") continue;
      const auto found = omissible.find(name);
      const bool may_be_omitted =
          found != omissible.end() && std::ranges::count(found->second, member.key()) > 0;
      EXPECT_EQ(refusal_of_event(without(name, member.key())) == "accepted", may_be_omitted)
          << name << ", " << member.key();
    }
  }
}

// A part that a trainer cannot measure is null, so a misspelt one must not count as unknown.
TEST(Event, AMisspeltPartIsNotAnUnknownOne) {
  Json misspelt = without("iteration", "exchange_s");
  misspelt["exchange_time_s"] = 0.25;
  EXPECT_EQ(refusal_of_event(misspelt), "reported an event \"iteration\" without \"exchange_s\"");
  const auto unknown =
      std::get<event::Iteration>(parse_event(changed("iteration", {{"exchange_s", nullptr}})));
  EXPECT_EQ(unknown.times->exchange_s, std::nullopt);
}

TEST(Event, KeepsUnknownMembersOfIterationsAndEvaluations) {
  const Json own = {{"rank", 0}, {"gradient_norm", 0.5}};
  const auto iteration = parse_event(changed("iteration", own));
  EXPECT_EQ(std::get<event::Iteration>(iteration).others, own);
  EXPECT_EQ(to_json(iteration), changed("iteration", own));
  EXPECT_EQ(std::get<event::Evaluation>(parse_event(changed("evaluation", own))).others, own);
  EXPECT_TRUE(parse_event(changed("finished", own)) == example_of("finished"));
}

TEST(Event, AnUnknownKindIsAccepted) {
  const Json own = {{"event", "sketched"}, {"iteration", "first"}};
  EXPECT_EQ(std::get<event::Other>(parse_event(own)).content, own);
}

TEST(Event, AnIterationWithoutTrainTimeHasNoTimes) {
  const Json untimed = to_json(event::Iteration{.iteration = 1, .payload_bytes = 10});
  EXPECT_TRUE(untimed.at("train_time_s").is_null());
  EXPECT_FALSE(untimed.contains("load_s"));
  EXPECT_EQ(std::get<event::Iteration>(parse_event(untimed)).times, std::nullopt);
  EXPECT_EQ(refusal_of_event(changed("iteration", {{"train_time_s", nullptr}})),
            "reported an event \"iteration\" whose \"iteration_time_s\" is 0.5, but must be null like "
            "\"train_time_s\"");
}

TEST(Event, NamesMemberValueAndRule) {
  EXPECT_EQ(refusal_of_event(changed("evaluation", {{"test_accuracy", 9.5}})),
            "reported an event \"evaluation\" whose \"test_accuracy\" is 9.5, but must be a number from 0 to "
            "1 or null");
  EXPECT_EQ(refusal_of_event(changed("iteration", {{"train_time_s", "fast"}})),
            "reported an event \"iteration\" whose \"train_time_s\" is \"fast\", but must be a number from 0 "
            "to 1e+09 or null");
  EXPECT_EQ(refusal_of_event(changed("iteration", {{"load_s", -1}})),
            "reported an event \"iteration\" whose \"load_s\" is -1, but must be a number from 0 to 1e+09 or "
            "null");
  EXPECT_EQ(refusal_of_event(changed("iteration", {{"applied", 1}})),
            "reported an event \"iteration\" whose \"applied\" is 1, but must be true or false");
  EXPECT_EQ(
      refusal_of_event(changed("summary", {{"vnmse", -0.1}})),
      "reported an event \"summary\" whose \"vnmse\" is -0.1, but must be a number of at least 0 or null");
  EXPECT_EQ(refusal_of_event(changed("started", {{"libraries", Json::array()}})),
            "reported an event \"started\" whose \"libraries\" is [], but must be an object");
  EXPECT_EQ(refusal_of_event(changed("replayed", {{"classes", {1}}})),
            "reported an event \"replayed\" whose \"classes\" is [1], but must be a list of objects");
}

// Returns an iteration of "worker_times" with another value in one member.
Json worker_iteration(const char* member, const Json& value) {
  Json out = to_json(example_of("worker_times")).at("iterations").at(0);
  out[member] = value;
  return out;
}

struct OutOfBounds {
  const char* name;
  const char* member;
  Json value;
};

TEST(Event, RefusesValuesThatWouldWrapOrMislead) {
  const std::vector<OutOfBounds> cases = {
      {"started", "pid", 0},
      {"started", "pid", nullptr},
      {"dataset", "hash", 7},
      {"dataset", "examples_per_worker", 7},
      {"dataset", "examples_per_worker", {1, -1}},
      {"dataset", "examples_per_worker", {1, nullptr}},
      {"heartbeat", "iteration", -1},
      {"heartbeat", "phase", nullptr},
      {"resumed", "iteration", nullptr},
      {"resumed", "train_time_s", 2e9},
      {"iteration_started", "train_time_s", nullptr},
      {"iteration_started", "monotonic_s", nullptr},
      {"iteration_started", "monotonic_s", 1795600000.5},
      {"worker_times", "iterations", 7},
      {"worker_times", "iterations", Json::array({7})},
      {"worker_times", "iterations", Json::array({{{"iteration", 1}}})},
      {"worker_times", "iterations", Json::array({worker_iteration("iteration", -1)})},
      {"worker_times", "iterations", Json::array({worker_iteration("monotonic_s", nullptr)})},
      {"worker_times", "iterations", Json::array({worker_iteration("monotonic_s", 1795600000.5)})},
      {"worker_times", "iterations", Json::array({worker_iteration("iteration_time_s", nullptr)})},
      {"worker_times", "iterations", Json::array({worker_iteration("compute_s", -0.5)})},
      {"worker_times", "iterations", Json::array({worker_iteration("exposed_exchange_s", "0")})},
      {"iteration", "iteration", 1.5},
      {"iteration", "iteration", 18446744073709551615U},
      {"iteration", "iteration", (std::int64_t{1} << 53) + 2},
      {"iteration", "epoch", nullptr},
      {"iteration", "epoch", -0.5},
      {"iteration", "iteration_time_s", -1},
      {"iteration", "iteration_time_s", nullptr},
      {"iteration", "compute_s", 2e9},
      {"iteration", "cpu_s", "0"},
      {"iteration", "train_loss", "NaN"},
      {"iteration", "payload_bytes", 9223372036854775807},
      {"iteration", "payload_bytes", 0.5},
      {"iteration", "sent_bytes", -1},
      {"iteration", "sent_bytes", 2e12},
      {"evaluation", "iteration", -1},
      {"evaluation", "train_time_s", -1},
      {"evaluation", "test_loss", "NaN"},
      {"evaluation", "test_accuracy", -0.5},
      {"summary", "parameters", -1},
      {"summary", "effective_density", -1},
      {"summary", "skipped_steps", 0.5},
      {"summary", "parameters_hash", 7},
      {"finished", "peak_memory_bytes", -1},
      {"failed", "kind", 1},
      {"failed", "message", nullptr},
      {"pretraining", "iterations", nullptr},
      {"pretrained", "test_accuracy", 1.5},
      {"replayed_iteration", "train_time_s", nullptr},
      {"replayed_iteration", "represents_first_step", nullptr},
      {"replayed", "classes", nullptr},
      {"measured_network", "connected_bit_per_s", -1},
      {"measured_network", "pairs_at_a_time", 0.5},
      {"measured_network", "received_bit_per_s", {1, -1}},
      {"measured_network", "received_bit_per_s", 1e6},
      {"measured_network", "round_trips_s", {2e9}},
      {"measured_network", "sent_bytes_after", -1},
      {"replayed",
       "classes",
       {{{"steps", 1}, {"iterations", 1}, {"mean_s", -1}, {"ci95_half_width_s", nullptr}}}},
  };
  for (const OutOfBounds& each : cases) {
    EXPECT_THAT(refusal_of_event(changed(each.name, {{each.member, each.value}})),
                testing::StartsWith("reported an event"))
        << each.name << ", " << each.member << ", " << each.value;
  }
}

TEST(Event, RefusesOtherValues) {
  EXPECT_EQ(refusal_of_event(Json::array({1})), "reported [1], which is not an object");
  EXPECT_EQ(refusal_of_event("text"), "reported \"text\", which is not an object");
  EXPECT_EQ(refusal_of_event({{"iteration", 1}}),
            "reported {\"iteration\":1}, in which \"event\" is not a string");
  EXPECT_EQ(refusal_of_event({{"event", 7}}), "reported {\"event\":7}, in which \"event\" is not a string");
}

TEST(Event, ShowsNoControlCharacters) {
  EXPECT_EQ(
      refusal_of_event(changed("finished", {{"peak_memory_bytes", "\u001b[2J\u009b"}})),
      "reported an event \"finished\" whose \"peak_memory_bytes\" is \"\\u001b[2J\\u009b\", but must be "
      "a whole number from 0 to 9.0072e+15 or null");
}

}  // namespace
}  // namespace thinpipe
