// What is wrong with a configuration, with its line.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/car_config.h"

namespace braid::config {
namespace {

using testing::HasSubstr;

TEST(ConfigProblems, OneProblemHasItsLineAndHint) {
  EXPECT_EQ(error_of("doors: 2\nprice: fast\n"),
            "[car] car.yaml line 2: price is a number, got 'fast'\n"
            "HINT: write it as 0.1 or 3e-4");
  EXPECT_EQ(error_of("", {"spare.radius=fast"}),
            "[car] override 'spare.radius=fast': spare.radius is a number, "
            "got 'fast'\nHINT: write it as 0.1 or 3e-4");
}

TEST(ConfigProblems, AllProblemsAreOneError) {
  EXPECT_EQ(error_of("paint: 3\nelectric: 7\ndors: 2\n", {"price=-1"}),
            "[car] car.yaml: 4 problems\n"
            "  line 1: paint is a map of keys, got '3'\n"
            "    HINT: write KEY: VALUE\n"
            "  line 2: electric is true or false, got '7'\n"
            "  line 3: unknown key 'dors'\n"
            "    HINT: did you mean 'doors'?\n"
            "  override 'price=-1': price is at least 0, got '-1'");
  std::string many;
  for (int i = 0; i < 30; ++i) many += "key" + std::to_string(i) + ": 1\n";
  EXPECT_THAT(error_of(many), HasSubstr("30 problems"));
  EXPECT_THAT(error_of(many), HasSubstr("\n  and 10 more"));
}

struct Case {
  std::string text;
  std::vector<std::string> parts;
  std::vector<std::string> overrides = {};
};

std::string bomb() {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    std::string before = "*a" + std::to_string(i - 1);
    text += fmt::format("a{0}: &a{0} [{1}, {1}, {1}, {1}, {1}, {1}, {1}]\n", i,
                        before);
  }
  return text;
}

// Each alias lies one level deeper than the one before.
std::string deep_aliases() {
  std::string text = "a0: &a0 [x]\n";
  for (int i = 1; i < 100; ++i) {
    text += fmt::format("a{0}: &a{0} [*a{1}]\n", i, i - 1);
  }
  return text;
}

std::string many_keys() {
  std::string text = "signs: {";
  for (int i = 0; i < 5000; ++i) text += fmt::format("k{}: 1, ", i);
  return text + "}";
}

std::string nested(size_t depth) {
  return "owners: " + std::string(depth, '[') + std::string(depth, ']');
}

TEST(ConfigProblems, BadFilesAreRefusedWithTheirLine) {
  const std::vector<Case> cases = {
      // Kinds of values.
      {"doors: [1]", {"line 1: doors is a whole number, got a list"}},
      {"doors: {a: 1}", {"doors is a whole number, got a map"}},
      {"doors:", {"doors is a whole number, got nothing"}},
      {"doors: 1.5", {"doors is a whole number, got '1.5'"}},
      {"doors: \"4\"", {"got '4' in quotes", "HINT: quotes make it a text"}},
      {"doors: 99999999999999999999", {"is a whole number"}},
      {"doors: 1e99", {"is a whole number"}},
      {"doors: 0x4", {"is a whole number"}},
      {"doors: four", {"is a whole number, got 'four'"}},
      {"doors: .nan", {"is a whole number"}},
      {"doors: 0", {"doors is at least 1, got '0'"}},
      {"doors: 9", {"doors is at most 8, got '9'"}},
      {"price: '1e-4'", {"price is a number, got '1e-4' in quotes"}},
      {"price: 1,5", {"price is a number"}},
      {"price: .inf", {"price is a number"}},
      {"price: .nan", {"price is a number"}},
      {"price: yes", {"price is a number, got 'yes'"}},
      {"price: 10%", {"price is a number"}},
      {"tank: 4 XiB", {"tank is a number of bytes", "HINT: write it as 512"}},
      {"tank: -1", {"tank is a number of bytes"}},
      {"tank: 0", {"tank is at least 1"}},
      {"electric: maybe", {"electric is true or false, got 'maybe'"}},
      {"electric: 'true'", {"got 'true' in quotes"}},
      {"electric: []", {"electric is true or false, got a list"}},
      {"fuel: coal", {"fuel is petrol or gas, got 'coal'"}},
      {"name: [a]", {"name is a text, got a list"}},
      {"name:", {"name is a text, got nothing"}},
      {"plan: {a: b}", {"plan is a path, got a map"}},
      // Lists and maps.
      {"owners: a", {"owners is a list of texts, got 'a'", "HINT: write"}},
      {"owners: [a, [b]]", {"owners is a list of texts, got a list in it"}},
      {"ratios: [1, x]", {"ratios is a list of numbers, got 'x' in it"}},
      {"ratios: [1, 0]", {"ratios is above 0"}},
      {"seats: [1.5]", {"seats is a list of whole numbers, got '1.5' in it"}},
      {"seats: {}", {"seats is a list of whole numbers, got a map"}},
      {"signs: [a]", {"signs is a map of texts, got a list"}},
      {"signs: {a: {b: c}}", {"signs is a map of texts, got a map for 'a'"}},
      {"gearbox: [a]", {"gearbox is a text or a map, got a list"}},
      {"gearbox: {gears: 6}", {"gearbox has no 'kind'"}},
      {"gearbox: {kind: a, b: c}", {"gearbox has 'b', which is a number"}},
      {"gearbox: {kind: a, b: [[1]]}", {"gearbox has 'b'"}},
      // Sections.
      {"paint: []", {"paint is a map of keys, got a list"}},
      {"paint: {a: {b: c}}", {"paint.a is a value or a list, got a map"}},
      {"paint: {a:}", {"paint.a is a value or a list, got nothing"}},
      {"spare: []", {"spare.radius is a number, got a list"}},
      {"spare: fast", {"spare.radius is a number, got 'fast'"}},
      {"spare: {radius: 0}", {"spare.radius is above 0"}},
      {"spare: {raduis: 1}", {"unknown key 'spare.raduis'", "'spare.radius'"}},
      {"wheels: {a: 1}", {"wheels is a list of maps, got a map"}},
      {"wheels: [{}, {tyre: 1}]", {"wheels.1.tyre is summer, winter or all"}},
      {"others: [1]", {"others is a map of maps, got a list"}},
      {"others: {a: {x: 1}}", {"unknown key 'others.a.x'"}},
      {"[a, b]", {"line 1: the file is a map of keys, got a list"}},
      {"word", {"the file is a map of keys, got 'word'"}},
      // Keys.
      {"dor: 1", {"unknown key 'dor'", "HINT: did you mean 'doors'?"}},
      {"doors: 1\n\ndoors: 2", {"line 3: 'doors' stands twice"}},
      {"spare: {radius: 1, radius: 1}", {"'radius' stands twice"}},
      {"{[a]: 1}", {"a key is a text, got a list"}},
      {"? {a: b}\n: 1", {"a key is a text, got a map"}},
      {"~: 1", {"a key is a text, got nothing"}},
      {"<<: {doors: 2}", {"unknown key '<<'"}},
      // YAML.
      {"a: [1", {"not valid YAML"}},
      {"a: b: c", {"line 1", "not valid YAML"}},
      {"doors: 1\n\t- x", {"not valid YAML"}},
      {"name: \"a", {"not valid YAML"}},
      {"name: *a", {"not valid YAML"}},
      {"doors: 1\n---\ndoors: 2", {"line 3: a second document begins"}},
      {"name: !!python/object x", {"the tag", "is not read"}},
      {"wheels: !mine []", {"the tag '!mine' is not read"}},
      {"wheels: &a [*a]", {"an alias stands inside what it names"}},
      {"name: a\ntank: \xff", {"line 2: byte 14 is no UTF-8 text"}},
      {"name: \xc0\xaf", {"is no UTF-8 text"}},
      {"name: \xed\xa0\x80", {"is no UTF-8 text"}},
      {std::string("name: a\0b", 9), {"byte 7 is no UTF-8 text"}},
      {"\xff\xfe"
       "a",
       {"byte 0 is no UTF-8 text", "save the file as UTF-8"}},
      {bomb(), {"expected at most 100000 values", "an alias counts"}},
      {deep_aliases(), {"expected at most 64 levels"}},
      {many_keys(), {"expected at most 4096 keys in a map"}},
      {nested(100), {"expected at most 64 levels"}},
      {nested(100000), {"car.yaml"}},
      {std::string(2 << 20, '#'), {"expected at most 1048576 bytes"}},
      // Overrides.
      {"", {"override 'doors': is no KEY=VALUE"}, {"doors"}},
      {"", {"override '=1': is no KEY=VALUE"}, {"=1"}},
      {"", {"override 'a..b=1': has an empty key"}, {"a..b=1"}},
      {"", {"override 'dors=1': unknown key 'dors'"}, {"dors=1"}},
      {"", {"override 'doors=many': doors is a whole"}, {"doors=many"}},
      {"", {"override 'name=\\xff': is no UTF-8 text"}, {"name=\xff"}},
      {"",
       {"override 'owners=[a': has a value that is no YAML"},
       {"owners=[a"}},
      {"wheels: [1]", {"wheels has items 0 to 0, got '1'"}, {"wheels.1.x=1"}},
      {"wheels: [1]", {"wheels has items 0 to 0, got '-1'"}, {"wheels.-1=1"}},
      {"wheels: []", {"wheels has no items"}, {"wheels.0=1"}},
      {"doors: 2",
       {"override 'doors.x=1': doors is a whole number, got a map"},
       {"doors.x=1"}},
      {"paint: a",
       {"line 1: paint is a map of keys, got 'a'"},
       {"paint.color=b"}},
      {"gearbox: a/b c",
       {"gearbox has no 'kind' that is a name"},
       {"gearbox.x=1"}},
  };
  for (const Case& c : cases) {
    std::string error = error_of(c.text, c.overrides);
    EXPECT_THAT(error, testing::StartsWith("[car] "));
    for (const std::string& part : c.parts) {
      EXPECT_THAT(error, HasSubstr(part)) << c.text.substr(0, 200);
    }
  }
}

TEST(ConfigProblems, LongAndUnprintableTextIsShownShort) {
  std::string error = error_of("doors: \"" + std::string(5000, 'x') + "\\n\"");
  EXPECT_LT(error.size(), 200u);
  EXPECT_THAT(error_of("doors: \"a\\u0007\""), HasSubstr("'a\\x07'"));
}

}  // namespace
}  // namespace braid::config
