// SPDX-License-Identifier: Apache-2.0
#include "harness/advice/advice_table.hh"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/support/readable.hh"
#include "common/support/table.hh"
#include "common/support/units.hh"

namespace thinpipe {
namespace {

bool lacks_codec(const Json& method) {
  return method.at("encode_s").is_null();
}

std::string codec_cell(const Json& method, bool included) {
  if (!included) return "left out";
  if (lacks_codec(method)) return "unknown";
  return format_time(method.at("encode_s").get<double>() + method.at("decode_s").get<double>());
}

// The caps at which a method pays off; "(?)" if it looks faster than it is.
std::string caps_cell(const Json& method, const char* key, bool is_bound) {
  const auto text = method.at(key).get<std::string>();
  return is_bound && text != "never" && text != "-" ? text + " (?)" : text;
}

std::vector<std::string> row_of(const Json& method, bool included) {
  const bool is_bound = included && lacks_codec(method);
  const auto speed_up = [&](const char* key) {
    return fmt::format("{}{:.2f}", is_bound ? "< " : "", method.at(key).get<double>());
  };
  return {method.at("method").get<std::string>(),
          format_bytes(method.at("payload_bytes_per_iteration").get<double>()),
          codec_cell(method, included),
          (is_bound ? "> " : "") + format_time(method.at("iteration_time_s").get<double>()),
          speed_up("speed_up_over_dense"),
          speed_up("speed_up_over_fp16"),
          caps_cell(method, "caps_over_dense", is_bound),
          caps_cell(method, "caps_over_fp16", is_bound)};
}

std::string head(const Json& advice) {
  const Json& model = advice.at("model");
  return fmt::format(
      "{}{:.4g} parameters, {} workers, topology {} at {}, {} compute per iteration ({})\n\n",
      model.is_null() ? "" : fmt::format("model {}: ", model.get<std::string>()),
      advice.at("parameters").get<double>(), advice.at("workers").get<std::int64_t>(),
      advice.at("topology").get<std::string>(),
      fmt::join(advice.at("caps").get<std::vector<std::string>>(), ", "),
      format_time(advice.at("compute_time_s").get<double>()),
      advice.at("compute_is_measured").get<bool>() ? "measured here, one worker alone" : "given");
}

std::string searched(const Json& advice) {
  const auto rates = advice.at("rates_bit_per_s").get<std::vector<double>>();
  return fmt::format("{} to {}", format_quantity(Quantity::rate, rates.front()),
                     format_quantity(Quantity::rate, rates.back()));
}

}  // namespace

std::string format_advice(const Json& advice) {
  const bool included = !advice.at("encode_decode_from").is_null();
  std::vector<std::vector<std::string>> rows;
  for (const Json& method : advice.at("methods")) rows.push_back(row_of(method, included));
  std::string out =
      head(advice) + format_table({"method", "payload", "encode+decode", "iteration", "over dense",
                                   "over fp16", "beats dense at caps", "beats fp16 at caps"},
                                  rows);
  out += fmt::format(
      "\nPayload: bytes that a worker hands to collectives per iteration.\n"
      "Over: speed-up per iteration at the topology's own caps. Beats: by more than {:.0f} %, with all bottlenecks at "
      "one cap, from {}.\n",
      100 * (advice.at("threshold").get<double>() - 1), searched(advice));
  for (const Json& assumption : advice.at("assumptions")) out += assumption.get<std::string>() + "\n";
  return out;
}

}  // namespace thinpipe
