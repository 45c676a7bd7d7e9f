#include "harness/run/measurements.hh"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

Json iteration(int number, double time_s, double train_time_s) {
  return {{"event", "iteration"},         {"iteration", number},
          {"train_time_s", train_time_s}, {"iteration_time_s", time_s},
          {"compute_s", 0.5 * time_s},    {"encode_s", 0.1 * time_s},
          {"load_s", 0.05 * time_s},      {"exchange_s", 0.3 * time_s},
          {"decode_s", 0.1 * time_s},     {"exposed_exchange_s", 0.2 * time_s},
          {"payload_bytes", 100},         {"sent_bytes", 175.5},
          {"processor_s", 0.4 * time_s}};
}

Json evaluation(int number, double train_time_s, const Json& accuracy) {
  return {{"event", "evaluation"},        {"iteration", number}, {"epoch", 0},
          {"train_time_s", train_time_s}, {"train_loss", 2.0},   {"test_loss", 1.5},
          {"test_accuracy", accuracy}};
}

TEST(Quantile, InterpolatesBetweenOrderStatistics) {
  EXPECT_DOUBLE_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_DOUBLE_EQ(quantile({1, 2, 3, 4}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({0, 10}, 0.9), 9);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.9), 7);
}

TEST(Measurements, SumsBytesAndAveragesTimes) {
  Measurements measurements;
  EXPECT_TRUE(measurements.iteration_time_s().is_null());
  measurements.add({{"event", "started"}});
  measurements.add(evaluation(0, 0, 0.1));
  measurements.add(iteration(1, 1, 1));
  measurements.add(iteration(2, 3, 4));
  EXPECT_EQ(measurements.iterations(), 2);
  EXPECT_DOUBLE_EQ(measurements.train_time_s(), 4);
  EXPECT_EQ(measurements.payload_bytes(), 200);
  EXPECT_DOUBLE_EQ(measurements.sent_bytes(), 351);
  const Json times = measurements.iteration_time_s();
  EXPECT_DOUBLE_EQ(times.at("mean"), 2);
  EXPECT_DOUBLE_EQ(times.at("p50"), 2);
  EXPECT_DOUBLE_EQ(times.at("p90"), 2.8);
  EXPECT_DOUBLE_EQ(times.at("load"), 0.1);
  EXPECT_DOUBLE_EQ(times.at("compute"), 1);
  EXPECT_DOUBLE_EQ(times.at("exposed_exchange"), 0.4);
  EXPECT_EQ(measurements.curve().size(), 1);
}

TEST(Measurements, OfReplaysAreNotOfWhatStandsForTheFirstStep) {
  Measurements measurements;
  Json first = iteration(1, 9, 9);
  first["event"] = "replayed_iteration";
  first["stands_for_first"] = true;
  measurements.add(first);
  EXPECT_TRUE(measurements.iteration_time_s().is_null());
  EXPECT_DOUBLE_EQ(measurements.train_time_s(), 9);
  first["iteration"] = 2;
  first["iteration_time_s"] = 1;
  first["stands_for_first"] = false;
  measurements.add(first);
  EXPECT_DOUBLE_EQ(measurements.iteration_time_s().at("mean").get<double>(), 1);
}

// Parts that an external trainer cannot measure separately.
TEST(Measurements, AnUnknownPartStaysUnknown) {
  Measurements measurements;
  measurements.add(iteration(1, 1, 1));
  Json untold = iteration(2, 3, 4);
  untold["exchange_s"] = nullptr;
  measurements.add(untold);
  measurements.add(iteration(3, 1, 5));
  EXPECT_TRUE(measurements.iteration_time_s().at("exchange").is_null());
  EXPECT_DOUBLE_EQ(measurements.iteration_time_s().at("load"), 0.25 / 3);
}

TEST(Measurements, AMisspeltPartIsNotAnUnknownOne) {
  Json misspelt = iteration(1, 1, 1);
  misspelt["exchange_time_s"] = misspelt["exchange_s"];
  misspelt.erase("exchange_s");
  Measurements measurements;
  EXPECT_THROW(measurements.add(misspelt), Json::exception);
  EXPECT_TRUE(measurements.iteration_time_s().is_null());
  measurements.add(iteration(1, 1, 1));
  EXPECT_THROW(measurements.add(misspelt), Json::exception);
  EXPECT_DOUBLE_EQ(measurements.iteration_time_s().at("exchange"), 0.3);
}

TEST(Measurements, GoingBackDropsTheCurvesEndButNotWhatWasDone) {
  Measurements measurements;
  measurements.add(evaluation(0, 0, 0.1));
  for (const int number : {1, 2, 3}) measurements.add(iteration(number, 1, number));
  measurements.add(evaluation(2, 2, 0.2));
  measurements.add(evaluation(3, 3, 0.3));
  measurements.go_back_to(2);
  EXPECT_EQ(measurements.iterations(), 2);
  EXPECT_EQ(measurements.curve().back().at("iteration"), 2);
  measurements.add(iteration(3, 2, 5));
  EXPECT_EQ(measurements.iterations(), 3);
  EXPECT_EQ(measurements.payload_bytes(), 400);
  EXPECT_DOUBLE_EQ(measurements.iteration_time_s().at("mean"), 1.25) << "of all four";
  measurements.go_back_to(-1);
  EXPECT_EQ(measurements.iterations(), 0);
  EXPECT_TRUE(measurements.curve().empty());
}

TEST(Measurements, AnEventWithoutItsFieldsIsRefused) {
  Measurements measurements;
  EXPECT_THROW(measurements.add({{"event", "iteration"}, {"iteration", 1}}), Json::exception);
}

}  // namespace
}  // namespace thinpipe
