#include "braid/plan/solve/instance.h"

#include <gtest/gtest.h>

#include "plan/solve/instances.h"
#include "thrown.h"

namespace braid::plan {
namespace {

std::string problem(const std::string& text) {
  return thrown_by([&] { parse_instance(text, "x.json"); });
}

// A whole instance with one segment of one mode.
std::string with_mode(const std::string& mode) {
  return R"({"depths": [0], "segments": [{"modes": [)" + mode + "]}]}";
}

std::string with(const std::string& more) {
  return R"({"depths": [0], "segments": [{"modes": [{}]}, {"modes": [{}]}], )" +
         more + "}";
}

TEST(InstanceText, ComesBack) {
  Random random(1);
  for (int k = 0; k < 20; ++k) {
    Instance instance = random_instance(random, form_of(k));
    EXPECT_EQ(parse_instance(instance_text(instance), "x.json"), instance);
  }
}

TEST(InstanceText, WhatIsMissingIsNothing) {
  Instance instance = parse_instance(with_mode("{}"), "x.json");
  EXPECT_EQ(instance.segments[0].modes[0], Mode{});
  EXPECT_EQ(instance.device_bytes, kNoLimit);
  EXPECT_EQ(instance.host_bytes, kNoLimit);
  instance = parse_instance(with(R"("device_bytes": 0, "host_bytes": 0)"), "");
  EXPECT_EQ(instance.device_bytes, 0);
  EXPECT_EQ(instance.host_bytes, 0);
}

TEST(InstanceText, NumbersAreWholeAndFrom0) {
  EXPECT_EQ(problem(with_mode(R"({"f": -1})")),
            "[plan] x.json: segments[0].modes[0].f: expected a whole number "
            "from 0 to 2^63 - 1, got -1");
  for (const char* bad : {"1.5", "1e3", "\"1\"", "null", "true", "[]",
                          "18446744073709551615", "1e400"}) {
    std::string mode = std::string("{\"keep\": ") + bad + "}";
    EXPECT_NE(problem(with_mode(mode)), "") << bad;
  }
  EXPECT_NE(problem(with(R"("device_bytes": -1)")), "");
  EXPECT_NE(problem(with_mode(R"({"dep": 1})")), "");
}

TEST(InstanceText, KeysAreKnownAndStandOnce) {
  EXPECT_EQ(problem(with_mode(R"({"kepp": 1})")),
            "[plan] x.json: segments[0].modes[0].kepp: nobody reads this key\n"
            "HINT: did you mean 'keep'?");
  EXPECT_EQ(problem(with_mode(R"({"f": 1, "f": 2})")),
            "[plan] x.json: the key 'f' stands twice in one object");
  EXPECT_NE(problem(with(R"("limit": 3)")), "");
}

TEST(InstanceText, ThereAreSegmentsModesAndDepths) {
  EXPECT_EQ(problem(R"({"depths": [0], "segments": []})"),
            "[plan] x.json: segments: expected at least one segment");
  EXPECT_EQ(problem(R"({"depths": [0], "segments": [{"modes": []}]})"),
            "[plan] x.json: segments[0].modes: expected at least one mode");
  EXPECT_EQ(problem(R"({"segments": [{"modes": [{}]}]})"),
            "[plan] x.json: depths: expected a list, there is none");
  EXPECT_EQ(problem(R"({"depths": [], "segments": [{"modes": [{}]}]})"),
            "[plan] x.json: depths: expected at least one depth");
  for (const char* bad : {"[-1]", "[65]", "[1, 1]", "[2, 1]", "[0.5]", "3"}) {
    std::string text = std::string(R"({"segments": [{"modes": [{}]}], )") +
                       "\"depths\": " + bad + "}";
    EXPECT_NE(problem(text), "") << bad;
  }
}

TEST(InstanceText, EdgesGoForward) {
  EXPECT_EQ(problem(with(R"("edges": [{"from": 0, "to": 1, "bytes": 3}])")),
            "");
  EXPECT_EQ(problem(with(R"("edges": [{"from": 0, "to": 2, "bytes": 3}])")),
            "[plan] x.json: edges[0].to: expected a segment after 0, to 1, "
            "got 2");
  EXPECT_NE(problem(with(R"("edges": [{"from": 1, "to": 1, "bytes": 3}])")),
            "");
  EXPECT_NE(problem(with(R"("edges": [{"from": 1, "to": 0, "bytes": 3}])")),
            "");
  EXPECT_NE(problem(with(R"("edges": [{"from": 0, "to": 1}])")), "");
  EXPECT_NE(problem(with(R"("edges": [{"from": 5, "to": 6, "bytes": 1}])")),
            "");
  EXPECT_NE(problem(with(R"("edges": {})")), "");
}

TEST(InstanceText, SumsDoNotOverflow) {
  std::string large = std::to_string(kMostTotal);
  EXPECT_EQ(problem(with_mode("{\"f\": " + large + "}")), "");
  EXPECT_NE(problem(with_mode("{\"f\": " + large + ", \"b\": 1}")), "");
  EXPECT_NE(problem(with_mode("{\"res\": " + large + ", \"keep\": 1}")), "");
  std::string two = R"({"depths": [0], "segments": [{"modes": [{"host": )" +
                    large + R"(}]}, {"modes": [{"host": 1}]}]})";
  EXPECT_NE(problem(two).find("segments: expected host bytes that sum up"),
            std::string::npos);
  std::string most = std::to_string(INT64_MAX);
  EXPECT_NE(problem(with_mode("{\"f\": " + most + ", \"b\": " + most + "}")),
            "");
}

TEST(InstanceText, WhatLeavesASlotWasInIt) {
  EXPECT_EQ(problem(with_mode(R"({"lf": 5, "xf": 3, "wf": 1})")),
            "[plan] x.json: segments[0].modes[0].lf: expected at most xf + wf "
            "= 4, got 5");
  EXPECT_NE(problem(with_mode(R"({"lb": 5, "xb": 4, "keep": 9})")), "");
  EXPECT_NE(problem(with_mode(R"({"grad": 5, "xb": 4})")), "");
  EXPECT_NE(problem(with_mode(R"({"grad": 3, "lb": 2, "xb": 4})")), "");
  EXPECT_EQ(problem(with_mode(R"({"grad": 3, "lb": 2, "xb": 4, "keep": 1})")),
            "");
}

TEST(InstanceText, IsJson) {
  EXPECT_EQ(problem("{"), "[plan] x.json: not valid JSON at byte 2");
  EXPECT_NE(problem(""), "");
  EXPECT_NE(problem("[]"), "");
  EXPECT_NE(problem("3"), "");
  EXPECT_NE(problem(std::string(100000, '[')), "");
  EXPECT_NE(problem(with("\"edges\": [], \"\\u0000\": 1")), "");
}

}  // namespace
}  // namespace braid::plan
