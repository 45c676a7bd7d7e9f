// SPDX-License-Identifier: Apache-2.0
// A small valid topology, and variants of it with mistakes.
#pragma once

#include <functional>

#include "netem/topology/topology.hh"

namespace thinpipe::netem {

inline Json two_switches() {
  return {{"name", "small"},
          {"switches", {"left", "right"}},
          {"hosts", {"a", "b", "c"}},
          {"links",
           {{{"between", {Json::array({"a", "b"}), "left"}}},
            {{"between", {"c", "right"}}},
            {{"between", {"left", "right"}}, {"rate", "100 Mbit/s"}, {"bottleneck", true}}}}};
}

inline Json spoiled(const std::function<void(Json&)>& spoil) {
  Json value = two_switches();
  spoil(value);
  return value;
}

}  // namespace thinpipe::netem
