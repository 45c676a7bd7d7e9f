// SPDX-License-Identifier: Apache-2.0
// Records with any members: what is written is valid by the schema and reads back equal.
#include <algorithm>
#include <iterator>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "common/support/tests/paths.hh"
#include "harness/records/record.hh"
#include "harness/records/record_members.hh"
#include "harness/tests/program.hh"
#include "harness/tests/record_schema.hh"

namespace thinpipe {
namespace {

using record::Allowed;
using testing::IsEmpty;

// Sets the members of a struct to any values that their rules allow.
class AnyMembers {
 public:
  void required(std::string_view /*name*/, auto& out, const Allowed& allowed = {}) { set(out, allowed); }
  template <class T>
  void optional(std::string_view /*name*/, std::optional<T>& out, const Allowed& allowed = {}) {
    set(out, allowed);
  }
  void any(std::string_view /*name*/, Json& out) { set(out, {}); }
  void version(std::string_view /*name*/, int /*version*/) {}
  void target(Target& out) {
    out.metric = *rc::gen::element(Target::Metric::accuracy, Target::Metric::test_loss,
                                   Target::Metric::bits_per_byte, Target::Metric::perplexity);
    set(out.value, record::positive_share);
  }
  void rule(bool /*holds*/, std::string_view /*name*/, const char* /*what*/) {}

 private:
  static void set(bool& out, const Allowed& /*allowed*/) { out = *rc::gen::arbitrary<bool>(); }
  static void set(double& out, const Allowed& allowed) {
    const double unit = *rc::gen::inRange(1, 1'000'001) / 1e6;
    out = allowed.at_most == 1 ? unit
          : allowed.at_least < 0 && allowed.above < 0 && unit > 0.25
              ? -1 / unit
              : 1e6 * (1 - unit) + (allowed.above < 0 ? 0 : unit);
  }
  static void set(std::int64_t& out, const Allowed& allowed) {
    out = *rc::gen::inRange(static_cast<std::int64_t>(allowed.at_least), (std::int64_t{1} << 53) + 1);
  }
  static void set(std::string& out, const Allowed& allowed) {
    const auto any_character = rc::gen::inRange<char>(' ', 127);
    if (allowed.is_run_id) {
      out = *rc::gen::container<std::string>(16, rc::gen::elementOf(std::string("0123456789abcdef")));
    } else if (allowed.one_of.empty()) {
      out = *rc::gen::container<std::string>(any_character);
    } else {
      out = allowed.one_of[*rc::gen::inRange<std::size_t>(0, allowed.one_of.size())];
    }
  }
  static void set(Json& out, const Allowed& /*allowed*/) {
    // Not picked by RapidCheck, which would show it as a string.
    out = Json::object();
    if (*rc::gen::arbitrary<bool>()) out = {{"a/b", "text"}, {"c", Json::object()}};
  }
  template <class T>
  static void set(std::optional<T>& out, const Allowed& allowed) {
    out.reset();
    if (*rc::gen::arbitrary<bool>()) set(out.emplace(), allowed);
  }
  template <class T>
  static void set(std::vector<T>& out, const Allowed& allowed) {
    out.resize(*rc::gen::inRange<std::size_t>(0, 3));
    for (T& element : out) set(element, allowed);
  }
  template <class T>
  static void set(std::map<std::string, T>& out, const Allowed& allowed) {
    out.clear();
    std::vector<std::string> names;
    set(names, {});
    for (const std::string& name : names) set(out[name], allowed);
  }
  template <class Part>
  static void set(Part& out, const Allowed& /*allowed*/) {
    AnyMembers members;
    record::visit(members, out);
    keep_rules(out);
  }

  // Each changes a part so that its members agree with each other.
  static void keep_rules(auto& /*part*/) {}
  static void keep_rules(record::TargetResult& result) { keep_arrival(result); }
  static void keep_rules(record::HeldTarget& held) { keep_arrival(held); }
  static void keep_arrival(auto& result) {
    if (result.reached && !result.iteration) result.iteration = 0;
    if (result.reached) return;
    result.iteration.reset();
    result.train_time_s.reset();
  }
  static void keep_rules(record::WorkerEvent& event) {
    if (event.at_s) event.at_iteration.reset();
    if (!event.at_s && !event.at_iteration) event.at_s = 0;
    if (event.action) event.slowdown.reset();
    if (!event.action && !event.slowdown) event.slowdown = 1;
  }
  static void keep_rules(Record& record) {
    static const Json real = load_records(quickstart_records()).front();
    record.config = real.at("config");
    record.plan = real.at("plan");
    record.provenance = real.at("provenance");
    if (!record.error && record.status == "failed") record.status = "completed";
  }

 public:
  static Record record() {
    Record out;
    set(out, {});
    return out;
  }
};

// Shows a record as JSON in a failure.
void require_equal(const Record& read, const Record& written) {
  RC_LOG() << to_json(written).dump(2) << std::endl;
  RC_ASSERT(read == written);
}

RC_GTEST_PROP(RecordProperty, ReadsAsItWasWritten, ()) {
  const Record record = AnyMembers::record();
  require_equal(parse_record(Json::parse(record_text(to_json(record)))), record);
}

RC_GTEST_PROP(RecordProperty, IsValidByTheSchema, ()) {
  const Json written = to_json(AnyMembers::record());
  RC_LOG() << written.dump(2) << std::endl;
  const std::vector<std::string> violations = record_violations(written);
  RC_ASSERT(violations == std::vector<std::string>{});
}

// Adds the places of the members of a value, with * for elements. Names in an object of any names are no members.
void add_places(const Json& value, const std::string& place, std::set<std::string>& places) {
  static const std::set<std::string> free = {"/config",
                                             "/plan",
                                             "/provenance",
                                             "/labels",
                                             "/synchroniser",
                                             "/traffic/wire_bytes",
                                             "/traffic/utilisation",
                                             "/network_events/*/applied",
                                             "/fidelity/checks/*/specified",
                                             "/fidelity/checks/*/measured",
                                             "/replay/compute_profile/device"};
  places.insert(place);
  if (free.contains(place)) return;
  if (value.is_array()) {
    for (const Json& element : value) add_places(element, place + "/*", places);
  } else if (value.is_object()) {
    for (const auto& [name, member] : value.items()) add_places(member, place + "/" + name, places);
  }
}

// Returns an example of a value of the schema that has every member.
Json example_of(const Json& schema, const Json& definitions) {
  if (schema.contains("$ref")) {
    const auto name = schema.at("$ref").get<std::string>();
    return example_of(definitions.at(name.substr(name.rfind('/') + 1)), definitions);
  }
  if (schema.contains("allOf") && !schema.contains("properties"))
    return example_of(schema.at("allOf").front(), definitions);
  if (schema.contains("items")) return Json::array({example_of(schema.at("items"), definitions)});
  Json out = nullptr;
  if (schema.contains("properties")) {
    for (const auto& [name, member] : schema.at("properties").items())
      out[name] = example_of(member, definitions);
  }
  return out;
}

std::vector<std::string> without(const std::set<std::string>& places, const std::set<std::string>& others) {
  std::vector<std::string> out;
  std::ranges::set_difference(places, others, std::back_inserter(out));
  return out;
}

TEST(RecordMembers, AreThoseOfTheSchema) {
  std::set<std::string> written;
  const auto any_record = rc::gen::exec([] { return to_json(AnyMembers::record()); });
  for (std::uint64_t seed = 0; seed < 200; ++seed)
    add_places(any_record(rc::Random(seed), 100).value(), "", written);
  const Json schema = parse_json_file(source_path("harness/schema/record.schema.json"));
  std::set<std::string> described;
  add_places(example_of(schema, schema.at("definitions")), "", described);
  EXPECT_THAT(without(written, described), IsEmpty()) << "the schema lacks them";
  EXPECT_THAT(without(described, written), IsEmpty()) << "the record lacks them";
}

}  // namespace
}  // namespace thinpipe
