// SPDX-License-Identifier: Apache-2.0
#include "harness/advice/methods.hh"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "common/support/nearest.hh"
#include "harness/experiment/axis.hh"
#include "harness/experiment/merge.hh"

namespace thinpipe {
namespace {

const char* const always_compared[] = {"dense", "fp16"};

Json patch_of(Json synchroniser, double prune_ratio = 0) {
  Json patch = {{"synchroniser", std::move(synchroniser)}};
  if (prune_ratio > 0) patch["pruning"] = {{"ratio", prune_ratio}};
  return patch;
}

const AdvisedMethod* find_usual(const std::string& label) {
  const auto found = std::ranges::find(usual_methods(), label, &AdvisedMethod::label);
  return found == usual_methods().end() ? nullptr : &*found;
}

// Reads "KEY=VALUE" into the patch.
void read_option(const std::string& word, const Place& place, Json& patch) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw InputError(place, fmt::format("after the method's name, \"{}\" must be written KEY=VALUE, such as "
                                        "ratio=0.05 or pruning.ratio=0.9",
                                        word));
  }
  const std::string key = word.substr(0, equals);
  const std::string text = word.substr(equals + 1);
  const std::string path = key.find('.') == std::string::npos ? "synchroniser." + key : key;
  merge(patch, nested(path_keys(path, place), Json::accept(text) ? Json::parse(text) : Json(text)));
}

AdvisedMethod read_method(const std::string& text, const std::vector<std::string>& known) {
  if (const AdvisedMethod* usual = find_usual(text)) return *usual;
  const Place place{fmt::format("--methods {}", text), ""};
  std::istringstream words(text);
  std::string name;
  words >> name;
  if (std::ranges::find(known, name) == known.end()) {
    std::vector<std::string> names = known;
    for (const AdvisedMethod& usual : usual_methods()) {
      if (std::ranges::find(known, usual.label) == known.end()) names.push_back(usual.label);
    }
    throw InputError(place, fmt::format("unknown method \"{}\"{}", name, suggestion(name, names)));
  }
  AdvisedMethod method{.label = text, .patch = patch_of({{"name", name}})};
  for (std::string word; words >> word;) read_option(word, place, method.patch);
  return method;
}

}  // namespace

const std::vector<AdvisedMethod>& usual_methods() {
  static const std::vector<AdvisedMethod> all = {
      {"dense", patch_of({{"name", "dense"}})},
      {"fp16", patch_of({{"name", "fp16"}})},
      {"bf16", patch_of({{"name", "bf16"}})},
      {"topk 0.01", patch_of({{"name", "topk"}, {"ratio", 0.01}})},
      {"powersgd 4", patch_of({{"name", "powersgd"}, {"rank", 4}})},
      {"pactrain", patch_of({{"name", "pactrain"}}, 0.5)},
      {"pactrain ternary", patch_of({{"name", "pactrain"}, {"values", "ternary"}}, 0.5)},
      {"terngrad", patch_of({{"name", "terngrad"}})},
      {"qsgd 4", patch_of({{"name", "qsgd"}, {"bits", 4}})},
      {"topk_chunked 0.01", patch_of({{"name", "topk_chunked"}, {"ratio", 0.01}})},
  };
  return all;
}

std::vector<AdvisedMethod> read_methods(const std::vector<std::string>& texts,
                                        const std::vector<std::string>& known) {
  std::vector<AdvisedMethod> methods;
  const auto add = [&methods](AdvisedMethod method) {
    if (std::ranges::find(methods, method.label, &AdvisedMethod::label) == methods.end())
      methods.push_back(std::move(method));
  };
  for (const char* baseline : always_compared) add(*find_usual(baseline));
  for (const std::string& text : texts) add(read_method(text, known));
  return methods;
}

}  // namespace thinpipe
