// SPDX-License-Identifier: Apache-2.0
#include "common/protocol/script_report.hh"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "common/support/utf8.hh"

namespace thinpipe {
namespace {

constexpr double max_whole_number = 0x1p53;
constexpr double max_payload_bytes = 1e15;
constexpr double max_time_s = 1e9;
constexpr std::size_t max_shown_bytes = 200;

std::string shown(std::string_view text) {
  return printable(text.substr(0, max_shown_bytes));
}

ScriptReport read(JsonObject& object, const Json& value) {
  ScriptReport report;
  object.read("iteration", report.iteration, {.at_least = 0, .at_most = max_whole_number});
  object.read("epoch", report.epoch, {.at_least = 0});
  object.read("monotonic_s", report.monotonic_s, {.at_least = 0});
  object.read("train_time_s", report.train_time_s, {.at_least = 0, .at_most = max_time_s});
  object.read("train_loss", report.train_loss);
  object.read("test_loss", report.test_loss);
  object.read("test_accuracy", report.test_accuracy, {.at_least = 0, .at_most = 1});
  object.read("payload_bytes", report.payload_bytes, {.at_least = 0, .at_most = max_payload_bytes});
  report.is_evaluation = value.contains("test_loss") || value.contains("test_accuracy");
  if (report.is_evaluation && !report.iteration)
    throw InvalidEvent("reported a test loss or accuracy without the \"iteration\" it belongs to");
  if (const Json* const libraries = object.find("libraries"); libraries != nullptr && libraries->is_object())
    report.libraries = *libraries;
  for (const auto& [key, member] : value.items()) {
    constexpr std::string_view known[] = {"iteration",     "epoch",         "monotonic_s",
                                          "train_time_s",  "train_loss",    "test_loss",
                                          "test_accuracy", "payload_bytes", "libraries"};
    if (std::ranges::find(known, key) == std::end(known)) report.others[key] = member;
  }
  return report;
}

}  // namespace

ScriptReport parse_script_report(std::string_view text) {
  const Json value = Json::parse(text, shallow, false);
  if (!value.is_object())
    throw InvalidEvent(fmt::format("reported \"{}\", which is not a JSON object", shown(text)));
  try {
    JsonObject object(value, {"", ""});
    return read(object, value);
  } catch (const InputError& error) {
    throw InvalidEvent(
        fmt::format("reported {}: \"{}\" {}", shown(text), error.place().pointer.substr(1), error.message()));
  }
}

}  // namespace thinpipe
