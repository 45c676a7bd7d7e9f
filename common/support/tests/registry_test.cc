// SPDX-License-Identifier: Apache-2.0
#include "common/support/registry.hh"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

struct Shape {
  double area = 0;
};
using Shapes = Registry<Shape, double>;

Shapes shapes() {
  Shapes registry;
  registry.add("square", {"four equal sides", Json::array(), [](JsonObject& options, double scale) {
                            double side = 1;
                            options.read("side", side);
                            return std::make_unique<Shape>(Shape{scale * side * side});
                          }});
  return registry;
}

std::string registry_failure(const Json& value) {
  try {
    shapes().make(value, {"f.json", "/shape"}, 1);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Registry, MakesWhatIsNamedWithItsOptions) {
  EXPECT_EQ(shapes().make({{"name", "square"}, {"side", 3}}, {"f.json", ""}, 2)->area, 18);
}

TEST(Registry, WrongNamesAndOptionsSuggestTheNearest) {
  EXPECT_EQ(registry_failure({{"name", "sqare"}}),
            "f.json at /shape/name: unknown name \"sqare\"; did you mean \"square\"? known: square");
  EXPECT_EQ(registry_failure({{"name", "square"}, {"sied", 3}}),
            "f.json at /shape/sied: unknown key \"sied\"; did you mean \"side\"? known: name, side");
  EXPECT_EQ(registry_failure(Json::object()), "f.json at /shape: \"name\" is missing");
}

TEST(Registry, NamesInPythonFilesNeedAHost) {
  Shapes registry = shapes();
  EXPECT_FALSE(parse_script_name("square"));
  EXPECT_FALSE(parse_script_name(".py:square"));
  EXPECT_FALSE(parse_script_name("shapes.py:"));
  try {
    registry.find("shapes.py:Square", {"f.json", "/shape/name"});
    ADD_FAILURE() << "accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(
        error.what(),
        "f.json at /shape/name: names a class or function in a Python file, which works only in Python");
  }
  const Shapes::Entry hosted{.summary = "hosted", .options = {}, .make = {}};
  registry.set_script_host([&hosted](const ScriptName& name, const Place&) -> const Shapes::Entry& {
    EXPECT_EQ(name.file, "a:b/shapes.py");
    EXPECT_EQ(name.object, "Square");
    return hosted;
  });
  EXPECT_EQ(registry.find("a:b/shapes.py:Square", {}).summary, "hosted");
}

TEST(Registry, FindsNamesInPythonFilesAtAnyDepth) {
  EXPECT_TRUE(names_script({{"synchroniser", {{"name", "ef"}, {"inner", {{"name", "mine.py:Mine"}}}}}}));
  EXPECT_TRUE(names_script(Json::array({{{"model", {{"name", "net.py:Net"}}}}})));
  EXPECT_FALSE(names_script({{"synchroniser", {{"name", "topk"}, {"path", "mine.py:Mine"}}}}));
}

TEST(Registry, OneNameOneImplementation) {
  Shapes registry = shapes();
  EXPECT_THROW(registry.add("square", {}), Error);
}

}  // namespace
}  // namespace thinpipe
