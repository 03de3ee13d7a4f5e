// What the tests of rows share: names of tests, and results that are near.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "run_row.h"

namespace braid::parity {

// The text with what a test's name may not have replaced.
inline std::string test_name(std::string text) {
  for (char& c : text) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return text;
}

inline std::string row_name(const testing::TestParamInfo<Row>& info) {
  return test_name(info.param.op + "_" + info.param.note + "_" +
                   std::to_string(info.index));
}

inline void expect_near(const Results& a, const Results& b, double limit) {
  for (const auto& [name, value] : b) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(a.contains(name));
    ASSERT_EQ(a.at(name).sizes(), value.sizes());
    EXPECT_LE(difference(a.at(name), value), limit);
  }
}

}  // namespace braid::parity
