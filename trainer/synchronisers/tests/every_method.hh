// SPDX-License-Identifier: Apache-2.0
// Every registered method, with options for models of a few hundred weights.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer::testing {

// Returns methods that exchange in every step and send enough of a small model for it to learn.
inline std::vector<Json> every_method() {
  static const std::map<std::string, Json> needed = {
      {"deepreduce", {{"inner", {{"name", "topk"}, {"ratio", 0.2}}}}},
      {"netsense",
       {{"inner", {{"name", "topk"}, {"ratio", 0.2}}}, {"minimum_ratio", 0.2}, {"maximum_ratio", 0.2}}},
      {"topk", {{"ratio", 0.2}}}};
  const std::map<std::string, Json> preferred = {
      {"ratio", 0.2},    {"local_steps", 1}, {"chunk", 16},       {"k", 4},
      {"start_step", 0}, {"fragments", 1},   {"overlap_steps", 0}};
  std::vector<Json> out;
  for (const auto& [name, entry] : SynchroniserRegistry::instance().entries()) {
    Json& method = out.emplace_back(Json{{"name", name}});
    if (const auto found = needed.find(name); found != needed.end()) method.update(found->second);
    for (const Json& option : entry.options) {
      const auto wish = preferred.find(option.at("key").get<std::string>());
      if (wish != preferred.end()) method[wish->first] = wish->second;
    }
  }
  return out;
}

}  // namespace thinpipe::trainer::testing
