#include "trainer/synchronisers/tests/variants.hh"

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

#include "trainer/synchronisers/synchroniser.hh"

namespace thinpipe::trainer::testing {
namespace {

// Of options whose values a description does not list: those without a default, and those that matter.
const std::map<std::string, std::vector<Json>> further_choices = {{"qsgd.bits", {2, 4, 8}},
                                                                  {"qsgd.block_size", {512, 3}},
                                                                  {"terngrad.clip", {2.5, 0.0}},
                                                                  {"topk.ratio", {0.1, 1.0}}};

std::vector<Json> choices(const std::string& method, const Json& option) {
  const std::string path = fmt::format("{}.{}", method, option.at("key").get<std::string>());
  if (const auto listed = further_choices.find(path); listed != further_choices.end()) {
    return listed->second;
  }
  if (option.contains("one_of")) return option["one_of"];
  if (option.at("type") == "boolean") return {false, true};
  if (!option.contains("default")) throw Error(path + " has no default: give the conformance suite values");
  return {option["default"]};
}

// "values_ternary", as a test's name may be.
std::string spelt(const std::string& key, const Json& value) {
  std::string out = fmt::format("_{}_{}", key, value.is_string() ? value.get<std::string>() : value.dump());
  std::ranges::replace_if(
      out, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return out;
}

bool is_refused(const Json& options) {
  try {
    SynchroniserRegistry::instance().make(options, {"test", ""}, {});
  } catch (const InputError&) {
    return true;
  }
  return false;
}

}  // namespace

std::vector<Variant> all_variants() {
  std::vector<Variant> out;
  for (const auto& [method, entry] : SynchroniserRegistry::instance().entries()) {
    std::vector<Variant> variants = {{method, {{"name", method}}}};
    for (const Json& option : entry.options) {
      const std::string key = option.at("key");
      std::vector<Variant> extended;
      for (const Variant& variant : variants) {
        for (const Json& value : choices(method, option)) {
          Variant more = variant;
          more.options[key] = value;
          if (!option.contains("default") || value != option["default"]) more.name += spelt(key, value);
          extended.push_back(std::move(more));
        }
      }
      variants = std::move(extended);
    }
    std::erase_if(variants, [](const Variant& variant) { return is_refused(variant.options); });
    std::ranges::move(variants, std::back_inserter(out));
  }
  return out;
}

}  // namespace thinpipe::trainer::testing
