// SPDX-License-Identifier: Apache-2.0
#include "harness/advice/advice.hh"

#include <algorithm>
#include <memory>
#include <string_view>

#include <fmt/format.h>

#include "harness/advice/pay_off.hh"
#include "harness/plan/prediction.hh"

namespace thinpipe {
namespace {

const char* const baselines[] = {"dense", "fp16"};

Run with_caps(const Run& run, double rate_bit_per_s) {
  Setting setting{.config = {}, .topology = run.setting->topology};  // the prediction reads no configuration
  for (netem::Link& link : setting.topology.links) {
    if (!link.bottleneck) continue;
    for (netem::Direction* direction : {&link.forward, &link.backward}) {
      if (direction->rate_bit_per_s) direction->rate_bit_per_s = rate_bit_per_s;
    }
  }
  Run out = run;
  out.setting = std::make_shared<const Setting>(std::move(setting));
  return out;
}

Json to_json(const std::optional<CapRange>& range) {
  if (!range) return nullptr;
  const auto number = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
  return {{"from_bit_per_s", number(range->from_bit_per_s)}, {"to_bit_per_s", number(range->to_bit_per_s)}};
}

const Candidate& find(const std::vector<Candidate>& candidates, std::string_view method) {
  const auto found = std::ranges::find(candidates, method, &Candidate::method);
  if (found == candidates.end())
    throw Error(fmt::format("advise: there is no method {} to compare with", method));
  return *found;
}

// Returns the members that say what the method sends.
Json traffic_of(const Run& run) {
  const auto exchange = predict_exchange(run);
  const Json& config = run.training->config;
  return {{"synchroniser", config.value("synchroniser", Json(nullptr))},
          {"prune_ratio", config.value(Json::json_pointer("/pruning/ratio"), 0.0)},
          {"collective", run.collective},
          {"payload_bytes_per_iteration", run.training->plan.at("payload_bytes_per_iteration")},
          {"sent_bytes_per_iteration", sent_bytes_per_iteration(run)},
          {"slowest_link", exchange ? Json(exchange->link) : Json(nullptr)},
          {"exchange_time_s", exchange ? exchange->time_s : 0}};
}

}  // namespace

bool can_predict(const Run& run) {
  return run.mode == Mode::live && !run.runs_command() && !run.schedules_anything() &&
         predict_iteration_s(run, MeasuredWork{}).has_value();
}

double predict_iteration_s(const Candidate& candidate, double compute_s,
                           std::optional<double> rate_bit_per_s) {
  const CodecTime codec = candidate.codec.value_or(CodecTime{});
  const MeasuredWork work{.compute_s = compute_s, .encode_s = codec.encode_s, .decode_s = codec.decode_s};
  return predict_iteration_s(rate_bit_per_s ? with_caps(candidate.run, *rate_bit_per_s) : candidate.run, work)
      .value();
}

Json advise(const std::vector<Candidate>& candidates, double compute_s,
            const std::vector<double>& rates_bit_per_s) {
  Json methods = Json::array();
  for (const Candidate& candidate : candidates) {
    Json row = traffic_of(candidate.run);
    row["method"] = candidate.method;
    row["encode_s"] = candidate.codec ? Json(candidate.codec->encode_s) : Json(nullptr);
    row["decode_s"] = candidate.codec ? Json(candidate.codec->decode_s) : Json(nullptr);
    row["iteration_time_s"] = predict_iteration_s(candidate, compute_s);
    for (const char* name : baselines) {
      const Candidate& baseline = find(candidates, name);
      const auto speed_up = [&](std::optional<double> rate) {
        return predict_iteration_s(baseline, compute_s, rate) /
               predict_iteration_s(candidate, compute_s, rate);
      };
      const std::string over = std::string("_over_") + name;
      row["speed_up" + over] = speed_up({});
      const auto range = find_pay_off(rates_bit_per_s, speed_up);
      row["pays_off" + over] = to_json(range);
      row["caps" + over] = candidate.method == name ? "-" : describe(range);
    }
    row["iteration_time_by_rate_s"] = Json::array();
    for (const double rate : rates_bit_per_s) {
      row["iteration_time_by_rate_s"].push_back(predict_iteration_s(candidate, compute_s, rate));
    }
    methods.push_back(std::move(row));
  }
  return {
      {"threshold", paying_speed_up}, {"rates_bit_per_s", rates_bit_per_s}, {"methods", std::move(methods)}};
}

}  // namespace thinpipe
