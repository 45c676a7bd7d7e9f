// SPDX-License-Identifier: Apache-2.0
#include "harness/run/record_builder.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/run/tests/made_run.hh"

namespace thinpipe {
namespace {

using testing::StartsWith;
using testing::ThrowsMessage;

class RecordBuilderTest : public testing::Test {
 protected:
  explicit RecordBuilderTest(Mode mode = Mode::live) : run_(run_in(mode)) {}

  void train() {
    builder_.add(event::Started{.pid = 7, .libraries = {{"libtorch", "none"}}});
    builder_.add(event::Dataset{.hash = "00ff"});
    builder_.add(evaluation_after(0, 0, 0.1));
    builder_.add(iteration_after(1, 1));
    builder_.add(iteration_after(2, 2));
    builder_.add(evaluation_after(2, 2, 0.6));
    builder_.add(event::Summary{.parameters = 100, .vnmse = 0.25, .encode_cpu_s = 0.5, .skipped_steps = 1});
    builder_.add(1, event::Finished{.peak_memory_bytes = 5000});
  }

  Json build(const Outcome& outcome = {}, const NetworkReport& network = {}) const {
    return to_json(builder_.build(outcome, network, {}, {}));
  }

  thinpipe::Run run_;
  RecordBuilder builder_{run_, "example", {}, {{"version", "1"}}};
};

TEST_F(RecordBuilderTest, HasTheSizesOfWorkersPartsOfTheData) {
  builder_.add(event::Dataset{.hash = "00ff", .examples_per_worker = {3, 1}});
  EXPECT_EQ(build().at("provenance").at("examples_per_worker"), Json({3, 1}));
}

TEST_F(RecordBuilderTest, RefusesDataThatTheRunWasNotPlannedWith) {
  const auto expect_refusal = [this](const char* entry, const std::string& message) {
    CheckedConfig training = *run_.training;
    training.content = {{entry, "00ff"}};
    run_.training = std::make_shared<const CheckedConfig>(training);
    EXPECT_NO_THROW(builder_.add(event::Dataset{.hash = "00ff"}));
    EXPECT_THAT([this] { builder_.add(event::Dataset{.hash = "00fe"}); },
                ThrowsMessage<Error>(StartsWith(message)));
  };
  const std::string changed = " has changed since the experiment was planned; start it again";
  expect_refusal("/dataset/path", "the content of /dataset/path" + changed);
  expect_refusal("/dataset/directory", "the content of /dataset/directory" + changed);
  expect_refusal("/dataset/content", "what the function of /dataset/name returns" + changed);
}

TEST_F(RecordBuilderTest, HasTheCostOfSetUp) {
  EXPECT_EQ(build().at("set_up"),
            Json({{"pretraining_s", nullptr}, {"pretraining_from", nullptr}, {"pruning_s", nullptr}}));
  builder_.set_initial_weights({.file = "/r/initial-weights/00.pt",
                                .about = {.path = "initial-weights/00.pt", .test_accuracy = 0.25},
                                .train_time_s = 2.5});
  builder_.add(event::Summary{.pruning = {{"density", 0.5}, {"time_s", 0.125}}});
  EXPECT_EQ(build().at("set_up"),
            Json({{"pretraining_s", 2.5}, {"pretraining_from", "measured"}, {"pruning_s", 0.125}}));
  EXPECT_EQ(build().at("initial_weights").at("path"), "initial-weights/00.pt");
  EXPECT_EQ(build().at("pruning"), Json({{"density", 0.5}}));
}

TEST_F(RecordBuilderTest, RefusesAnImpossibleTimeOfPruning) {
  EXPECT_THROW(builder_.add(event::Summary{.pruning = {{"time_s", -1}}}), InvalidEvent);
  EXPECT_THROW(builder_.add(event::Summary{.pruning = {{"time_s", "long"}}}), InvalidEvent);
}

TEST_F(RecordBuilderTest, EventsBecomeTheRecord) {
  train();
  builder_.set_provenance("started_at", "now");
  const Json record = build();
  EXPECT_EQ(record.at("status"), "completed");
  EXPECT_EQ(record.at("run_id"), "0123");
  EXPECT_EQ(record.at("experiment"), "example");
  EXPECT_EQ(record.at("labels"), Json({{"method", "dense"}}));
  EXPECT_EQ(record.at("provenance"), Json({{"version", "1"},
                                           {"started_at", "now"},
                                           {"libraries", {{"libtorch", "none"}}},
                                           {"dataset_hash", "00ff"}}));
  EXPECT_EQ(record.at("iterations"), 2);
  EXPECT_EQ(record.at("train_time_s"), 2);
  EXPECT_EQ(record.at("curve").size(), 2);
  EXPECT_EQ(record.at("targets").at(0).at("train_time_s"), 2);
  EXPECT_EQ(record.at("iteration_time_s").at("mean"), 1);
  EXPECT_TRUE(record.at("predicted").at("iteration_time_s").is_number());
  EXPECT_EQ(record.at("traffic").at("payload_bytes_per_worker"), 800);
  EXPECT_EQ(record.at("traffic").at("sent_bytes_per_worker"), 801) << "rounded after the sum";
  EXPECT_EQ(record.at("traffic").at("delivered_bytes_per_worker"), 600);
  EXPECT_EQ(record.at("parameters"), 100);
  EXPECT_EQ(record.at("skipped_steps"), 1);
  EXPECT_EQ(record.at("compression").at("vnmse"), 0.25);
  EXPECT_EQ(record.at("compression").at("encode_cpu_s"), 0.5);
  EXPECT_TRUE(record.at("compression").at("decode_cpu_s").is_null());
  EXPECT_TRUE(record.at("parameters_hash").is_null());
  EXPECT_EQ(record.at("memory").at("peak_bytes_per_worker"), Json::array({nullptr, 5000}));
  for (const char* absent : {"error", "replay", "fidelity", "idle_cores", "train_clock", "initial_weights"}) {
    EXPECT_TRUE(record.at(absent).is_null()) << absent;
  }
}

TEST_F(RecordBuilderTest, KeepsWarningsInOrder) {
  EXPECT_EQ(build().at("warnings"), Json::array());
  builder_.warn("one");
  builder_.warn("two");
  EXPECT_EQ(build().at("warnings"), Json({"one", "two"}));
}

TEST_F(RecordBuilderTest, AFailedRunKeepsItsReports) {
  builder_.add(evaluation_after(0, 0, 0.1));
  builder_.add(iteration_after(1, 1));
  const Json record = build({Outcome::Status::failed, Failure{.kind = "crash", .message = "it ended"}});
  EXPECT_EQ(record.at("status"), "failed");
  EXPECT_EQ(record.at("error").at("kind"), "crash");
  EXPECT_EQ(record.at("iterations"), 1);
  EXPECT_EQ(record.at("curve").size(), 1);
  EXPECT_TRUE(record.at("parameters").is_null()) << "no summary";
  EXPECT_TRUE(record.at("memory").at("peak_bytes_per_worker").at(1).is_null());
}

TEST_F(RecordBuilderTest, ChangesOfTheNetworkNameTheTrainingTheyFollow) {
  builder_.add(iteration_after(1, 1));
  Json change = {{"at_s", 0.5},        {"link", "left->middle"}, {"source", "event"},
                 {"confirmed_s", 0.5}, {"applied", nullptr},     {"requested", {{"state", "up"}}}};
  Json missed = change;
  const Json added = builder_.add_change(change);
  change.update({{"iteration", 1}, {"train_time_s", 1.0}});
  EXPECT_EQ(added, change);
  const Json record = build({}, {.wire_bytes = {{"left->middle", 900}},
                                 .fidelity = {{"verdict", "faithful"}, {"checks", Json::array()}},
                                 .missed_changes = Json::array({missed})});
  missed.update({{"iteration", nullptr}, {"train_time_s", nullptr}});
  EXPECT_EQ(record.at("network_events"), Json::array({change, missed}));
  EXPECT_EQ(record.at("traffic").at("wire_bytes").at("left->middle"), 900);
  EXPECT_EQ(record.at("fidelity").at("verdict"), "faithful");
}

TEST_F(RecordBuilderTest, TrainingThatGoesBackLosesTheEndOfItsCurve) {
  train();
  builder_.go_back_to(1);
  const Json record = build();
  EXPECT_EQ(record.at("iterations"), 1);
  EXPECT_EQ(record.at("curve").size(), 1);
  EXPECT_EQ(record.at("traffic").at("payload_bytes_per_worker"), 800) << "of all work";
}

// The trainer may be the user's own program.
TEST_F(RecordBuilderTest, RefusesASummaryThatNoRecordCanHave) {
  const auto refusal = [this](const event::Summary& summary) {
    try {
      builder_.add(summary);
    } catch (const InvalidEvent& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal({.pruning = {{"density", 1.5}}}),
            "reported an event \"summary\" whose /pruning/density must be a number from 0 to 1");
  EXPECT_EQ(refusal({.synchroniser = {1}}),
            "reported an event \"summary\" whose /synchroniser must be an object or null");
}

TEST_F(RecordBuilderTest, OnlyAReplayHasReplayedClasses) {
  EXPECT_THROW(builder_.add(event::Replayed{}), InvalidEvent);
}

class ConvergenceRecordTest : public RecordBuilderTest {
 protected:
  ConvergenceRecordTest() : RecordBuilderTest(Mode::converge) {}
};

TEST_F(ConvergenceRecordTest, HasNoTimesAndNoPrediction) {
  event::Evaluation evaluation = evaluation_after(2, 2, 0.6);
  evaluation.train_time_s.reset();
  builder_.add(event::Iteration{.iteration = 2, .payload_bytes = 400});
  builder_.add(evaluation);
  const Json record = build();
  for (const char* absent : {"train_time_s", "iteration_time_s", "predicted"}) {
    EXPECT_TRUE(record.at(absent).is_null()) << absent;
  }
  EXPECT_EQ(record.at("targets").at(0).at("reached"), true);
  EXPECT_EQ(record.at("targets").at(0).at("iteration"), 2);
  EXPECT_EQ(record.at("traffic").at("wire_bytes"), Json::object());
  EXPECT_EQ(record.at("traffic").at("payload_bytes_per_worker"), 400);
  EXPECT_TRUE(record.at("traffic").at("sent_bytes_per_worker").is_null()) << "no iteration has them";
}

}  // namespace
}  // namespace thinpipe
