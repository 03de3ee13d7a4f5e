// Configurations of a small struct: reading, overriding, writing, docs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "braid/config/page.h"
#include "braid/config/writer.h"
#include "braid/config/yaml_writer.h"
#include "config/car_config.h"

namespace braid::config {
namespace {

using testing::HasSubstr;

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
                   "price=", "electric=", "paint.depth=", "paint={color: blue}",
                   "plan=x", "name=a=b.c: d"});
  Car expected = full_car();
  expected.doors = 1;
  expected.spare->radius = 1;
  expected.owners = {"a", "b"};
  expected.others["new"] = {0.25};
  expected.price.reset();
  expected.electric = false;
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
                           "\r",
                           "a\rb",
                           "a\xc2\x85",
                           "\xe2\x80\xa8",
                           "\xef\xbb\xbf",
                           "a,b\r",
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
