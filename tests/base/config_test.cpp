// Configurations of a small struct: reading, overriding, writing, docs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "braid/base/config/overrides.h"
#include "braid/base/config/page.h"
#include "braid/base/config/reader.h"
#include "braid/base/config/writer.h"
#include "braid/base/config/yaml_reader.h"
#include "braid/base/config/yaml_writer.h"

namespace braid::config {
namespace {

using testing::HasSubstr;

struct Wheel {
  double radius = 0.5;
  std::string tyre = "summer";

  bool operator==(const Wheel&) const = default;
};

struct Paint {
  std::string color = {};
  Options extra = {};

  bool operator==(const Paint&) const = default;
};

struct Car {
  std::string name = "car";
  std::filesystem::path plan = {};
  int64_t doors = 4;
  std::optional<double> price = {};
  std::optional<int64_t> tank = {};
  bool electric = false;
  std::string fuel = "petrol";
  std::string gearbox = "manual";
  std::vector<std::string> owners = {};
  std::vector<double> ratios = {1, 0.5};
  std::vector<int64_t> seats = {};
  std::map<std::string, std::string> signs = {};
  Paint paint = {};
  std::optional<Wheel> spare = {};
  std::vector<Wheel> wheels = {};
  std::map<std::string, Wheel> others = {};

  bool operator==(const Car&) const = default;
};

void describe(Section& s, Wheel& w) {
  s.bare("radius");
  s.number("radius", w.radius, "Metres").above(0).max(2);
  s.choice("tyre", w.tyre, {"summer", "winter", "all"}, "Kind of tyre");
}

void describe(Section& s, Paint& p) {
  s.text("color", p.color, "Color | shade");
  s.rest(p.extra, "VALUE", "Values of the color");
}

void describe(Section& s, Car& c) {
  s.text("name", c.name, "What it is called");
  s.path("plan", c.plan, "Drawing");
  s.whole("doors", c.doors, "Doors").min(1).max(8);
  s.number("price", c.price, "Price").min(0);
  s.bytes("tank", c.tank, "Size of the tank").min(1);
  s.flag("electric", c.electric, "Whether it has no tank");
  s.choice("fuel", c.fuel, {"petrol", "gas"}, "What it burns");
  s.call("gearbox", c.gearbox, {}, "How it shifts");
  s.texts("owners", c.owners, "Who had it");
  s.numbers("ratios", c.ratios, "Gears").above(0);
  s.wholes("seats", c.seats, "Seats per row").min(1);
  s.texts_by_name("signs", c.signs, "Plates by country");
  s.section("paint", c.paint, "Paint");
  s.section("spare", c.spare, "Spare wheel");
  s.sections("wheels", c.wheels, "Wheels");
  s.sections_by_name("others", c.others, "Wheels by name");
}

const Folders kFolders{"/cars", "/home"};

Car read(const std::string& text,
         const std::vector<std::string>& overrides = {}) {
  Report report("car", "car.yaml");
  Node root = parse_yaml(text, report);
  apply_overrides(root, overrides, report);
  Car car;
  read_config(root, car, kFolders, report);
  report.throw_if_any();
  return car;
}

std::string error_of(const std::string& text,
                     const std::vector<std::string>& overrides = {}) {
  try {
    read(text, overrides);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

constexpr const char* kFull =
    "name: no\n"
    "plan: a/../b.txt\n"
    "doors: 5\n"
    "price: 1e-4\n"
    "tank: 512MiB\n"
    "electric: yes\n"
    "fuel: gas\n"
    "gearbox: {kind: automatic, gears: 6, ratios: [.1, 2], sport: true}\n"
    "owners: [1, ~a, \"\"]\n"
    "ratios: [.1, 2e0]\n"
    "seats: [2, 3]\n"
    "signs: {de: X-1, 'no': yes}\n"
    "paint:\n"
    "  color: red\n"
    "  depth: 1e-3\n"
    "  mix: [0.1, 0.2]\n"
    "spare: {tyre: winter}\n"
    "wheels: [{radius: 0.4}, 0.3, {}]\n"
    "others: {left: {radius: 1}, right: 2}\n";

Car full_car() {
  Car car{.name = "no",
          .plan = "/cars/b.txt",
          .doors = 5,
          .price = 1e-4,
          .tank = 512 << 20,
          .electric = true,
          .fuel = "gas",
          .gearbox = "automatic(gears=6,ratios=[0.1,2],sport=1)",
          .owners = {"1", "~a", ""},
          .ratios = {0.1, 2},
          .seats = {2, 3},
          .signs = {{"de", "X-1"}, {"no", "yes"}}};
  car.paint = {"red", {{"depth", "1e-3"}, {"mix", "[0.1,0.2]"}}};
  car.spare = Wheel{0.5, "winter"};
  car.wheels = {{0.4}, {0.3}, {}};
  car.others = {{"left", {1}}, {"right", {2}}};
  return car;
}

TEST(Config, IsReadByTheTypesOfItsStruct) {
  EXPECT_EQ(read(kFull), full_car());
}

TEST(Config, NothingGivesDefaults) {
  EXPECT_EQ(read(""), Car{});
  EXPECT_EQ(read("# only a comment\n"), Car{});
  EXPECT_EQ(read("paint:\nprice: ~\nspare: null\nwheels:\n"), Car{});
}

TEST(Config, OptionsKnowWhereTheyStand) {
  Options extra = read(kFull, {"paint.shade=dark"}).paint.extra;
  ASSERT_EQ(extra.size(), 3u);
  EXPECT_EQ(extra[0].where, "car.yaml line 15");
  EXPECT_EQ(extra[0].folder, "/cars");
  EXPECT_EQ(extra[2].where, "override 'paint.shade=dark'");
  EXPECT_EQ(extra[2].folder, "/home");
  EXPECT_EQ(find_option(extra, "mix"), &extra[1]);
  EXPECT_EQ(find_option(extra, "mixx"), nullptr);
}

TEST(Config, AliasesRepeat) {
  Car car = read("wheels: [&w {radius: 0.7}, *w]\nspare: *w\n");
  EXPECT_EQ(car.wheels, (std::vector<Wheel>{{0.7}, {0.7}}));
  EXPECT_EQ(car.spare, Wheel{0.7});
}

TEST(Config, OverridesCountOverTheFile) {
  Car car =
      read(kFull, {"doors=1e0", "wheels.1.tyre=all", "gearbox.gears=5",
                   "spare.radius=1", "owners=[a, b]", "others.new.radius=.25",
                   "price=", "paint={color: blue}", "plan=x", "name=a=b.c: d"});
  Car expected = full_car();
  expected.doors = 1;
  expected.spare->radius = 1;
  expected.owners = {"a", "b"};
  expected.others["new"] = {0.25};
  expected.price.reset();
  expected.paint = {"blue", {}};
  expected.plan = "/home/x";
  expected.name = "a=b.c: d";
  expected.gearbox = "automatic(gears=5,ratios=[0.1,2],sport=1)";
  expected.wheels[1].tyre = "all";
  EXPECT_EQ(car, expected);
}

TEST(Config, OverridesMeetBareValues) {
  Car car = read("spare: 0.3\nwheels: [0.4]\ngearbox: auto(gears=6,sport=1)\n",
                 {"spare.tyre=winter", "wheels.0.radius=1", "gearbox.gears=5",
                  "gearbox.ratios=[1, .5]"});
  EXPECT_EQ(car.spare, (Wheel{0.3, "winter"}));
  EXPECT_EQ(car.wheels, (std::vector<Wheel>{{1}}));
  EXPECT_EQ(car.gearbox, "auto(gears=5,sport=1,ratios=[1,0.5])");
}

TEST(Config, WrittenItReadsBackEqual) {
  for (const Car& car : {Car{}, full_car()}) {
    std::string text = yaml_text(write_config(car));
    EXPECT_EQ(read(text), car) << text;
  }
}

TEST(Config, OddTextsReadBackEqual) {
  for (const char* text : {"",
                           " ",
                           "~",
                           "null",
                           "yes",
                           "1e3",
                           "[a",
                           "[a,b]",
                           "{",
                           "a: b",
                           "a #b",
                           "*x",
                           "&x",
                           "!x",
                           "'",
                           "\"",
                           "line\nline\n",
                           "\t",
                           "- a",
                           "%",
                           "@",
                           "\\",
                           "\xc3\xa4",
                           "\xf0\x9f\x9a\x97",
                           "\x7f",
                           "\x01",
                           "? a",
                           "a:",
                           "#",
                           "---",
                           "...",
                           "<<",
                           "=",
                           "true",
                           ".inf",
                           "0x10",
                           "[1, 2]",
                           "['a,b']"}) {
    Car car{.name = text, .owners = {text, text}, .signs = {{text, text}}};
    car.gearbox = text;
    car.paint.extra = {{"value", text}};
    std::string file = yaml_text(write_config(car));
    EXPECT_EQ(read(file), car) << file;
  }
}

TEST(Config, WritesOnlyWhatDiffersFromDefaults) {
  Car car;
  car.doors = 2;
  car.paint.color = "red";
  car.wheels = {{0.25}};
  Node node = without_defaults(write_config(car), write_config(Car{}));
  EXPECT_EQ(yaml_text(node),
            "doors: 2\n"
            "paint:\n"
            "  color: red\n"
            "wheels:\n"
            "  - radius: 0.25\n"
            "    tyre: summer\n");
}

TEST(Config, OneProblemHasItsLineAndHint) {
  EXPECT_EQ(error_of("doors: 2\nprice: fast\n"),
            "[car] car.yaml line 2: price is a number, got 'fast'\n"
            "HINT: write it as 0.1 or 3e-4");
  EXPECT_EQ(error_of("", {"spare.radius=fast"}),
            "[car] override 'spare.radius=fast': spare.radius is a number, "
            "got 'fast'\nHINT: write it as 0.1 or 3e-4");
}

TEST(Config, AllProblemsAreOneError) {
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

TEST(Config, BadFilesAreRefusedWithTheirLine) {
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
      {bomb(), {"expected at most 50000 values", "an alias counts"}},
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
      {"", {"override 'doors='", "got nothing"}, {"doors="}},
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

TEST(Config, LongAndUnprintableTextIsShownShort) {
  std::string error = error_of("doors: \"" + std::string(5000, 'x') + "\\n\"");
  EXPECT_LT(error.size(), 200u);
  EXPECT_THAT(error_of("doors: \"a\\u0007\""), HasSubstr("'a?'"));
}

TEST(Config, TablesNameEveryKey) {
  std::vector<Row> rows = rows_of<Car>();
  auto find = [&](const std::string& key) {
    auto at = std::ranges::find(rows, key, &Row::key);
    return at == rows.end() ? Row{} : *at;
  };
  EXPECT_EQ(find("doors").type, "whole number, at least 1, at most 8");
  EXPECT_EQ(find("doors").initial, "4");
  EXPECT_EQ(find("ratios").initial, "[1,0.5]");
  EXPECT_EQ(find("price").initial, "");
  EXPECT_EQ(find("paint.VALUE").meaning, "Values of the color");
  EXPECT_EQ(find("spare").type, "section, or `radius` alone");
  EXPECT_EQ(find("spare.radius").initial, "0.5");
  EXPECT_EQ(find("spare.tyre").type, "summer, winter or all");
  EXPECT_EQ(find("wheels").type, "list of sections, as `spare`");
  EXPECT_EQ(find("others").type, "map of sections, as `spare`");
  EXPECT_EQ(rows.size(), 20u);
  EXPECT_THAT(markdown_table(rows),
              HasSubstr("| `paint.color` | text |  | Color \\| shade |\n"));
}

TEST(Config, HelpIsAtMost80ColumnsWide) {
  std::vector<Row> rows = rows_of<Car>();
  rows.push_back({std::string(40, 'k'), "text", "x", std::string(20, 'a')});
  for (int i = 0; i < 30; ++i) rows.back().meaning += " words";
  std::string help = help_text(rows);
  EXPECT_THAT(help, HasSubstr("  doors                     Doors [4]\n"));
  for (size_t from = 0; from < help.size();) {
    size_t end = help.find('\n', from);
    EXPECT_LE(end - from, 80u) << help.substr(from, end - from);
    from = end + 1;
  }
}

}  // namespace
}  // namespace braid::config
