// SPDX-License-Identifier: Apache-2.0
#include "trainer/training/model_fragments.hh"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace thinpipe::trainer {
namespace {

bool is_number(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// "blocks.3.attention.weight": "blocks.3"; "embedding.weight": "embedding".
std::string layer_of(const std::string& parameter) {
  for (std::size_t begin = 0;;) {
    const std::size_t dot = parameter.find('.', begin);
    if (dot == std::string::npos) return begin == 0 ? parameter : parameter.substr(0, begin - 1);
    if (is_number(parameter.substr(begin, dot - begin))) return parameter.substr(0, dot);
    begin = dot + 1;
  }
}

}  // namespace

std::vector<std::vector<std::size_t>> fragments_of(const std::vector<ParameterInfo>& parameters,
                                                   std::int64_t count, const Place& place) {
  std::vector<std::vector<std::size_t>> fragments(static_cast<std::size_t>(count));
  std::map<std::string, std::size_t> layers;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const std::size_t layer = layers.try_emplace(layer_of(parameters[p].name), layers.size()).first->second;
    fragments[layer % fragments.size()].push_back(p);
  }
  if (layers.size() < fragments.size()) {
    throw InputError(place, fmt::format("must be at most {}, the number of the model's layers, but is {}",
                                        layers.size(), count));
  }
  return fragments;
}

SynchroniserContext part_of(const SynchroniserContext& whole, const std::vector<std::size_t>& parameters) {
  SynchroniserContext part = whole;
  part.parameters.clear();
  part.kept.clear();
  part.weights.clear();
  for (const std::size_t p : parameters) {
    part.parameters.push_back(whole.parameters.at(p));
    if (!whole.kept.empty()) part.kept.push_back(whole.kept.at(p));
    if (!whole.weights.empty()) part.weights.push_back(whole.weights.at(p));
  }
  return part;
}

}  // namespace thinpipe::trainer
