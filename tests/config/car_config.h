// A struct with keys of every kind, for tests of configurations.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "braid/config/overrides.h"
#include "braid/config/reader.h"
#include "braid/config/yaml_reader.h"
#include "thrown.h"

namespace braid::config {

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

inline void describe(Section& s, Wheel& w) {
  s.bare("radius");
  s.number("radius", w.radius, "Metres").above(0).max(2);
  s.choice("tyre", w.tyre, {"summer", "winter", "all"}, "Kind of tyre");
}

inline void describe(Section& s, Paint& p) {
  s.text("color", p.color, "Color | shade");
  s.rest(p.extra, "VALUE", "Values of the color");
}

inline void describe(Section& s, Car& c) {
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

inline const Folders kFolders{"/cars", "/home"};

inline Car read(const std::string& text,
                const std::vector<std::string>& overrides = {}) {
  Report report("car", "car.yaml");
  Node root = parse_yaml(text, report);
  apply_overrides(root, overrides, report);
  Car car;
  read_config(root, car, kFolders, report);
  report.throw_if_any();
  return car;
}

inline std::string error_of(const std::string& text,
                            const std::vector<std::string>& overrides = {}) {
  return thrown_by([&] { read(text, overrides); });
}

}  // namespace braid::config
