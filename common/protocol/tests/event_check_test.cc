#include "common/protocol/event_check.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinpipe {
namespace {

std::string refusal_of_event(const std::string& event) {
  try {
    check_event(Json::parse(event));
  } catch (const UnfitEvent& error) {
    return error.what();
  }
  return "accepted";
}

TEST(CheckEvent, TakesWhatTrainersReport) {
  for (
      const char* event :
      {R"({"event": "evaluation", "iteration": 0, "epoch": 0, "train_time_s": 0, "test_accuracy": 1, "test_loss": -3.5, "train_loss": null})",
       R"({"event": "iteration", "iteration": 1, "train_time_s": 0.5, "load_s": null, "payload_bytes": 0, "sent_bytes": 0.5, "applied": false})",
       R"({"event": "iteration_started", "iteration": 1, "train_time_s": 0, "monotonic_s": 12345.678})",
       R"({"event": "summary", "parameters": null, "pruning": {"ratio": 0.5}, "effective_density": 1.2, "vnmse": null})",
       R"({"event": "whatever", "unknown": -1})"}) {
    EXPECT_EQ(refusal_of_event(event), "accepted") << event;
  }
}

TEST(CheckEvent, NamesFieldValueAndRule) {
  EXPECT_EQ(refusal_of_event(R"({"event": "evaluation", "test_accuracy": 9.5})"),
            "reported an event \"evaluation\" whose \"test_accuracy\" is 9.5, but must be a number from 0 to "
            "1 or null");
  EXPECT_EQ(refusal_of_event(R"({"event": "iteration", "train_time_s": "fast"})"),
            "reported an event \"iteration\" whose \"train_time_s\" is \"fast\", but must be a number from 0 "
            "to 1e+09 or "
            "null");
  EXPECT_EQ(refusal_of_event(R"({"event": "iteration", "iteration_time_s": -1})"),
            "reported an event \"iteration\" whose \"iteration_time_s\" is -1, but must be a number from 0 "
            "to 1e+09 or "
            "null");
  EXPECT_EQ(refusal_of_event(R"({"event": "iteration", "applied": 1})"),
            "reported an event \"iteration\" whose \"applied\" is 1, but must be true or false");
}

TEST(CheckEvent, RefusesWhatWouldWrapOrMislead) {
  for (const char* event :
       {R"({"event": "iteration", "iteration": 1.5})",
        R"({"event": "iteration", "iteration": 18446744073709551615})",
        R"({"event": "iteration", "payload_bytes": 9223372036854775807})",
        R"({"event": "iteration_started", "monotonic_s": null})",
        R"({"event": "iteration_started", "monotonic_s": 1795600000.5})",
        R"({"event": "iteration", "sent_bytes": -1})", R"({"event": "finished", "peak_memory_bytes": -1})",
        R"({"event": "summary", "vnmse": -0.1})", R"({"event": "summary", "parameters_hash": 7})",
        R"({"event": "evaluation", "test_loss": "NaN"})", R"({"event": "started", "libraries": []})",
        R"([1])", R"("text")"}) {
    EXPECT_NE(refusal_of_event(event), "accepted") << event;
  }
}

TEST(CheckEvent, ShowsNoControlCharacters) {
  EXPECT_EQ(refusal_of_event(R"({"event": "a\u001b[2J", "hash": 1})"),
            "reported an event \"a\\u001b[2J\" whose \"hash\" is 1, but must be a string");
}

}  // namespace
}  // namespace thinpipe
